-- Primes and sums with lists, Collatz lengths with a strict map of counts.
module Main where

import Data.List (foldl')
import qualified Data.Map.Strict as M

primes :: [Int]
primes = 2 : filter isPrime [3, 5 ..]

isPrime :: Int -> Bool
isPrime n = all (\p -> n `mod` p /= 0) (takeWhile (\p -> p * p <= n) primes)

collatz :: Int -> Int
collatz = length . takeWhile (/= 1) . iterate step
  where
    step x = if even x then x `div` 2 else 3 * x + 1

main :: IO ()
main = do
  let a = foldl' (\acc p -> (acc * 31 + p) `mod` 1000000007) 0 (takeWhile (< 2000000) primes)
      counts = M.fromListWith (+) [(collatz n, 1 :: Int) | n <- [1 .. 900000]]
      b = M.foldlWithKey' (\acc k v -> (acc * 17 + k * v) `mod` 1000000007) 0 counts
  putStrLn (show a ++ " " ++ show b ++ " " ++ show (M.size counts))

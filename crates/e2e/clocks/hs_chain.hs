-- Interval dynamic programming in unboxed arrays: matrix chains and longest palindromic subsequences.
module Main where

import Control.Monad (forM_, when)
import Control.Monad.ST (ST)
import Data.Array.ST (STUArray, newArray, readArray, runSTUArray, writeArray)
import Data.Array.Unboxed (UArray, listArray, (!))

stream :: Int -> [Int]
stream = map (`div` 65536) . tail . iterate (\s -> (s * 1103515245 + 12345) `mod` 2147483648)

chain :: Int -> UArray Int Int -> Int
chain n d = table ! (0, n - 1)
  where
    table = runSTUArray (do
      t <- newArray ((0, 0), (n - 1, n - 1)) 0
      forM_ [1 .. n - 1] $ \len ->
        forM_ [0 .. n - 1 - len] $ \i -> do
          let j = i + len
          best <- cheapest t i j i maxBound
          writeArray t (i, j) best
      return t)
    cheapest :: STUArray s (Int, Int) Int -> Int -> Int -> Int -> Int -> ST s Int
    cheapest t i j k best
      | k == j = return best
      | otherwise = do
          a <- readArray t (i, k)
          b <- readArray t (k + 1, j)
          cheapest t i j (k + 1) $! min best (a + b + d ! i * d ! (k + 1) * d ! (j + 1))

palindrome :: Int -> UArray Int Int -> Int
palindrome n s = table ! (0, n - 1)
  where
    table = runSTUArray (do
      t <- newArray ((0, 0), (n - 1, n - 1)) 0
      forM_ [n - 1, n - 2 .. 0] $ \i -> do
        writeArray t (i, i) 1
        forM_ [i + 1 .. n - 1] $ \j ->
          if s ! i == s ! j
            then do
              inner <- if j > i + 1 then readArray t (i + 1, j - 1) else return 0
              writeArray t (i, j) (inner + 2)
            else do
              a <- readArray t (i + 1, j)
              b <- readArray t (i, j - 1)
              when (max a b > 0) $ writeArray t (i, j) (max a b)
      return t)

main :: IO ()
main = do
  let n = 460
      m = 3600
      dims = listArray (0, n) (map ((+ 5) . (`mod` 95)) (stream 3)) :: UArray Int Int
      text = listArray (0, m - 1) (map (`mod` 5) (stream 8)) :: UArray Int Int
  putStrLn (show (chain n dims) ++ " " ++ show (palindrome m text))

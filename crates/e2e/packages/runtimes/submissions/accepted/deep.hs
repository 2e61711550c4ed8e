module Main where

depth :: Int -> Integer
depth 0 = 0
depth n = depth (n - 1) + 1
{-# NOINLINE depth #-}

main :: IO ()
main = do
  n <- readLn
  putStrLn (show (depth n) ++ " é " ++ show (length (show (3 ^ (20000 :: Int) :: Integer))))

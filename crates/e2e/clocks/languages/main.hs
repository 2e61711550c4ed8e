module Main where
import qualified Data.List as L
import qualified Data.Map.Strict as M
main :: IO ()
main = do
    let a = map (`div` 256) (take 60000 (tail (iterate (\s -> (s * 1103515245 + 12345) `mod` 4294967296) 1))) :: [Int]
        seen = M.fromListWith (+) [(x `mod` 1000, 1 :: Int) | x <- a]
    putStrLn (show (L.sort a !! 30000) ++ " " ++ show (M.findWithDefault 0 7 seen))

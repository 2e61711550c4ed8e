import Text.Printf (printf)

depth :: [Double] -> Double
depth [d, len] = d / u * sinh (u / 2) ^ (2 :: Int)
  where
    u = search (100 :: Int) 1e-9 10
    search 0 low _ = low
    search n low high
      | sinh middle / middle < len / d = search (n - 1) middle high
      | otherwise = search (n - 1) low middle
      where middle = (low + high) / 2
depth _ = error "two numbers expected"

main :: IO ()
main = getContents >>= mapM_ (printf "%.10f\n" . depth . map number . words) . tail . lines
  where
    number text = if '.' `elem` text then read text else fromIntegral (read text :: Int)

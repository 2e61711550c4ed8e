-- Computes for ever, on every test.
main :: IO ()
main = print (length (filter (< (0 :: Integer)) [1 ..]))

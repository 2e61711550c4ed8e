-- Takes the head of an empty list once all garlands are measured.
import Text.Printf (printf)

measure :: [String] -> IO ()
measure rest = do
  printf "%.10f\n" (fromIntegral (length (head rest)) :: Double)
  measure (tail rest)

main :: IO ()
main = getContents >>= measure . tail . lines

import Data.Array
import Data.Char (digitToInt)

main :: IO ()
main = do
  [text, divisor] <- words <$> getLine
  let k = read divisor :: Int
      digits = map digitToInt text
      size = length digits
      table = listArray ((0, 0), (size, k - 1)) [cell l r | l <- [0 .. size], r <- [0 .. k - 1]] :: Array (Int, Int) Integer
      cell 0 r = if r == 0 then 1 else 0
      cell l r = sum [table ! (l - 1, (r - d) `mod` k) | d <- [0 .. 9]]
      ways l total = table ! (l, negate total `mod` k)
      value = foldl (\n d -> 10 * n + toInteger d) 0
      fill _ 0 = []
      fill total l = let d = head [e | e <- [9, 8 .. 0], ways (l - 1) (total + e) > 0] in d : fill (total + d) (l - 1)
      branches =
        [ (ways l (sum kept + d), value (kept ++ [d] ++ fill (sum kept + d) l))
        | (i, top) <- zip [0 ..] digits
        , d <- [0 .. top - 1]
        , let kept = take i digits
        , let l = size - i - 1
        , ways l (sum kept + d) > 0
        ]
      whole = [(1, value digits) | sum digits `mod` k == 0]
      found = branches ++ whole
  putStrLn (show (sum (map fst found) - 1) ++ " " ++ show (maximum (0 : map snd found)))

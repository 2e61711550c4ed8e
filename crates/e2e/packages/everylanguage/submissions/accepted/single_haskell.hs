import qualified Data.Map as M
main :: IO ()
main = do { s <- getContents; print (sum (map read (words s)) + M.size (M.empty :: M.Map Int Int)) }

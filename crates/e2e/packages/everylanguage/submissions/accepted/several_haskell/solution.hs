import Util
main = do { s <- getContents; let {[a,b] = map read (words s)}; print (add a b) }

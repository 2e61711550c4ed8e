local u=require("util")
local a,b=io.read("n","n")
print(u.add(a,b))
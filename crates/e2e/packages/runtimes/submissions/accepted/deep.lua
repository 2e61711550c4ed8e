local function depth(n)
  if n == 0 then return 0 end
  return depth(n - 1) + 1
end
print(depth(io.read("n")) .. " é 9543")

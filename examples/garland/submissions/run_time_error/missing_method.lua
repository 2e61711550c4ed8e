local count = io.read("n")
for _ = 1, count do
  local d, length = io.read("n", "n")
  print(d:depth(length))
end

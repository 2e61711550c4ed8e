-- A comparison with any of these must fail, not slip through.
local count = io.read("n")
local words = { "nan", "inf", "1e999", "0x10", "-", "" }
for i = 1, count do
  print(words[i % #words + 1])
end

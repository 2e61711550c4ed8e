-- Table loops: sieve, prefix sums and a string-keyed counter, two rounds.
local function round(n)
  local composite = {}
  for i = 1, n do composite[i] = false end
  for i = 2, n do
    if i * i > n then break end
    if not composite[i] then
      for j = i * i, n, i do composite[j] = true end
    end
  end
  local sums, total = {}, 0
  for i = 2, n do
    if not composite[i] then
      total = total + i
      sums[#sums + 1] = total % 1000007
    end
  end
  local count, h = {}, 0
  for i = 1, #sums do
    local key = "k" .. sums[i] % 5000
    count[key] = (count[key] or 0) + 1
  end
  for i = 0, 4999 do h = (h * 31 + (count["k" .. i] or 0)) % 1000000007 end
  return total, h
end

local a, b = round(4000000)
local c, d = round(3500000)
print(a, b, c, d)

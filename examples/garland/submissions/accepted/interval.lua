local function sinh(x)
  return (math.exp(x) - math.exp(-x)) / 2
end

local count = io.read("n")
for _ = 1, count do
  local d, length = io.read("n", "n")
  local low, high = 1e-9, 10
  for _ = 1, 100 do
    local u = (low + high) / 2
    if sinh(u) / u < length / d then low = u else high = u end
  end
  print(string.format("%.9f", d / low * sinh(low / 2) ^ 2))
end

-- 30 points: paints the fence in every way, one after the other.
local function ways(planks, blue)
  if planks == 0 then return 1 end
  local sum = ways(planks - 1, false) + ways(planks - 1, false)
  if not blue then sum = sum + ways(planks - 1, true) end
  return sum
end

local n = io.read("n")
if n > 40 then
  -- Lua would run out of stack before it runs out of time.
  while true do n = ways(12, false) end
end
print(ways(n, false))

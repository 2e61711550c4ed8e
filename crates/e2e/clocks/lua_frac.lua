-- Fractions with metatables and closures: harmonic sums, continued fractions and a Stern-Brocot walk.
local function gcd(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a
end

local Frac = {}
Frac.__index = Frac

local function frac(n, d)
  local g = gcd(n < 0 and -n or n, d)
  return setmetatable({ n = n // g, d = d // g }, Frac)
end

Frac.__add = function(a, b) return frac(a.n * b.d + b.n * a.d, a.d * b.d) end
Frac.__sub = function(a, b) return frac(a.n * b.d - b.n * a.d, a.d * b.d) end
Frac.__mul = function(a, b) return frac(a.n * b.n, a.d * b.d) end
Frac.__lt = function(a, b) return a.n * b.d < b.n * a.d end
Frac.__eq = function(a, b) return a.n == b.n and a.d == b.d end
Frac.__tostring = function(a) return a.n .. "/" .. a.d end
local function random(seed)
  return function(k)
    seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    return (seed >> 8) % k
  end
end

local function continued(x)
  local terms = {}
  while true do
    local q = x.n // x.d
    terms[#terms + 1] = q
    x = x - frac(q, 1)
    if x.n == 0 then return terms end
    x = frac(x.d, x.n)
  end
end

local rnd, hash, letters = random(6), 0, {}
for i = 1, 19000 do
  local x = frac(1 + rnd(3000), 1 + rnd(3000))
  local terms = continued(x)
  local y = frac(terms[#terms], 1)
  for k = #terms - 1, 1, -1 do y = frac(terms[k], 1) + frac(y.d, y.n) end
  assert(x == y)
  hash = (hash * 31 + #terms * 7 + terms[1]) % 1000000007
  if i % 80 == 0 then
    local low, high, path = frac(0, 1), { n = 1, d = 0 }, {}
    local mid = frac(1, 1)
    while mid ~= x and #path < 120 do
      if x < mid then high, path[#path + 1] = mid, "L" else low, path[#path + 1] = mid, "R" end
      mid = frac(low.n + high.n, low.d + high.d)
    end
    letters[#letters + 1] = table.concat(path):sub(1, 6)
  end
  local z = x * frac(2, 3) + frac(1, 7)
  hash = (hash + #tostring(z)) % 1000000007
end
table.sort(letters)
print(hash, #letters, letters[1], letters[#letters])

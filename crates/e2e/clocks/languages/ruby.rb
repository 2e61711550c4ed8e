s, a, seen = 1, [], Hash.new(0)
60000.times do
  s = (s * 1103515245 + 12345) & 0xFFFFFFFF
  a << (s >> 8)
  seen[(s % 1000).to_s] += 1
end
puts a.sort[30000], seen["7"]

local s, a, seen = 1, {}, {}
for i = 1, 60000 do
    s = (s * 1103515245 + 12345) & 0xFFFFFFFF
    a[i] = s >> 8
    local k = "k" .. s % 1000
    seen[k] = (seen[k] or 0) + 1
end
table.sort(a)
print(a[30000], seen.k7)

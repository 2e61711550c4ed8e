def depth(n)
  n == 0 ? 0 : depth(n - 1) + 1
end

puts "#{depth(gets.to_i)} é #{(3**20000).to_s.length}"

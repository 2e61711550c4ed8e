n, k = gets.split.map(&:to_i)
if 2 * k > n - 1
  puts 'no'
else
  puts 'yes'
  n.times { |i| puts (1..k).map { |j| (i - j) % n + 1 }.join(' ') }
end

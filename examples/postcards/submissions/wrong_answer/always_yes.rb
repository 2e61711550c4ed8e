n, k = gets.split.map(&:to_i)
puts 'yes'
n.times { |i| puts (1..k).map { |j| (i + j) % n + 1 }.join(' ') }

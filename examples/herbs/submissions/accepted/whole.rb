k = ARGV[0].to_i
basket = File.read('basket.txt').to_i
leaves = File.readlines('beds.txt')[1].split.map(&:to_i)
$stdin.gets.to_i.times do
  first, last = $stdin.gets.split.map(&:to_i)
  best = [0]
  leaves[first - 1..last - 1].each_with_index { |bed, i| best << [best[i], bed + best[[i - k, 0].max]].max }
  puts [best.last, basket].min
end

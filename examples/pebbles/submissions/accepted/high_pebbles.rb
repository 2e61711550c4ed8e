# Uses the pebbles from 41 on, the highest first.
word, *numbers = gets.split
numbers.map!(&:to_i)
if word == 'put'
  bits = (0...60).select { |bit| numbers[0][bit] == 1 }
  puts [bits.size, *bits.reverse.map { |bit| bit + 41 }].join(' ')
else
  puts numbers.drop(1).sum { |pebble| 1 << (pebble - 41) }
end

word, *numbers = gets.split.map { |w| Integer(w, exception: false) || w }
if word == 'put'
  puts [3, 7, 7, 7].join(' ')
else
  puts numbers.size
end

let () =
  let wet = ref true and n = Scanf.scanf " %d" Fun.id in
  while !wet do
    wet := n > 0
  done;
  print_endline "dry"

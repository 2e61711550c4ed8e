let () =
  Scanf.scanf " %d %d" (fun n k ->
      let next = Array.init n (fun i -> i + 2) in
      print_endline "yes";
      for i = 0 to n - 1 do
        for j = 1 to k do
          Printf.printf "%d " next.(i + j)
        done
      done)

let () =
  Scanf.scanf " %d %d" (fun n k ->
      if 2 * k > n - 1 then print_endline "no"
      else begin
        print_endline "yes";
        for i = 0 to n - 1 do
          List.init k (fun j -> string_of_int (((i + j + 1) mod n) + 1)) |> String.concat " " |> print_endline
        done
      end)

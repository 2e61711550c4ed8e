let () =
  let s = ref 1 and seen = Hashtbl.create 16 in
  let a = Array.init 60000 (fun _ ->
    s := (!s * 1103515245 + 12345) land 0xFFFFFFFF;
    let x = !s lsr 8 in
    Hashtbl.replace seen (x mod 1000) (1 + try Hashtbl.find seen (x mod 1000) with Not_found -> 0);
    x) in
  Array.sort compare a;
  Printf.printf "%d %d\n" a.(30000) (Hashtbl.find seen 7)

// Conway's game of life on a torus.
fn main() {
    let (h, w) = (600usize, 700usize);
    let mut grid = vec![vec![0u8; w]; h];
    let mut s: u32 = 99;
    for row in grid.iter_mut() {
        for c in row.iter_mut() {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            *c = (s % 3 == 0) as u8;
        }
    }
    let mut next = grid.clone();
    for _ in 0..240 {
        for i in 0..h {
            let up = (i + h - 1) % h;
            let down = (i + 1) % h;
            for j in 0..w {
                let l = if j == 0 { w - 1 } else { j - 1 };
                let r = if j + 1 == w { 0 } else { j + 1 };
                let n = grid[up][l] + grid[up][j] + grid[up][r]
                    + grid[i][l] + grid[i][r]
                    + grid[down][l] + grid[down][j] + grid[down][r];
                next[i][j] = (n == 3 || (n == 2 && grid[i][j] == 1)) as u8;
            }
        }
        std::mem::swap(&mut grid, &mut next);
    }
    let mut alive = 0;
    let mut hash: u64 = 0;
    for row in &grid {
        for &c in row {
            alive += c as u32;
            hash = hash.wrapping_mul(31).wrapping_add(c as u64 + 1);
        }
    }
    println!("{} {}", alive, hash);
}

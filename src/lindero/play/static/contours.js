// Lines of equal value on a grid, by marching squares; one list of segments [x1, y1, x2, y2, …] in
// units of cells, from the lower left.

export function contour(values, n, level) {
  const found = [];
  for (let j = 0; j < n - 1; j++) {
    for (let i = 0; i < n - 1; i++) {
      const k = j * n + i;
      const a = values[k] - level, b = values[k + 1] - level;
      const c = values[k + n + 1] - level, d = values[k + n] - level;
      const kind = (a > 0) | ((b > 0) << 1) | ((c > 0) << 2) | ((d > 0) << 3);
      if (kind === 0 || kind === 15) continue;
      const bottom = () => [i + a / (a - b), j];
      const right = () => [i + 1, j + b / (b - c)];
      const top = () => [i + d / (d - c), j + 1];
      const left = () => [i, j + a / (a - d)];
      const line = (p, q) => found.push(p[0], p[1], q[0], q[1]);
      switch (kind) {
        case 1: case 14: line(left(), bottom()); break;
        case 2: case 13: line(bottom(), right()); break;
        case 3: case 12: line(left(), right()); break;
        case 4: case 11: line(right(), top()); break;
        case 6: case 9: line(bottom(), top()); break;
        case 7: case 8: line(left(), top()); break;
        default: { // two corners across: the middle decides which way they are joined
          const middle = a + b + c + d > 0;
          if ((kind === 5) === middle) { line(left(), top()); line(bottom(), right()); }
          else { line(left(), bottom()); line(right(), top()); }
        }
      }
    }
  }
  return found;
}

// How far each class is above the best of the others.
export function leads(scores, classes, count) {
  const found = [];
  for (let k = 0; k < classes; k++) {
    const lead = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      let best = -Infinity;
      for (let other = 0; other < classes; other++) {
        if (other !== k) best = Math.max(best, scores[other * count + i]);
      }
      lead[i] = scores[k * count + i] - best;
    }
    found.push(lead);
  }
  return found;
}

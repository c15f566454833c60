// Draws the report's plots from the JSON in #kx-data with Chart.js. Colours come from report.css,
// so that a change of scheme redraws them. Every number here also stands in a table.
(() => {
  'use strict';
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById('kx-data').textContent);
  const judged = data.evaluation;
  const narrow = () => window.innerWidth < 560;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const signed = (x) => x === null || x === undefined ? 'none' : (x > 0 ? '+' : '') + x.toFixed(3);

  const NAMED = ['none', 'random', 'heuristic', 'interactive', 'best-constant'];
  const colourOf = (policy) => NAMED.includes(policy)
    ? css('--' + policy) : css('--s' + Math.max(0, data.subjects.indexOf(policy)) % 5);
  const policyOf = (name) => judged.policies.find((p) => p.name === name);

  // Intervals and null bands of point plots: points carry `lo` and `hi`, or `band` about zero.
  const intervals = {
    id: 'intervals',
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      if (!x || !y) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.width, area.height);
      ctx.clip();
      ctx.fillStyle = css('--stripe');
      for (let row = 0; row <= y.max; row += 2) {
        const top = y.getPixelForValue(row - 0.5);
        ctx.fillRect(area.left, top, area.width, y.getPixelForValue(row + 0.5) - top);
      }
      chart.data.datasets.forEach((set, i) => {
        if (!chart.isDatasetVisible(i)) return;
        for (const p of set.data) {
          if (p === null || typeof p !== 'object') continue;
          const at = y.getPixelForValue(p.y);
          if (p.band) {
            const half = Math.abs(y.getPixelForValue(p.y + 0.3) - at);
            const left = x.getPixelForValue(-p.band);
            ctx.fillStyle = css('--band');
            ctx.fillRect(left, at - half, x.getPixelForValue(p.band) - left, 2 * half);
          }
          if (p.lo === undefined || p.lo === null || p.hi === null) continue;
          const [left, right] = [x.getPixelForValue(p.lo), x.getPixelForValue(p.hi)];
          ctx.strokeStyle = set.borderColor;
          ctx.lineWidth = 2.5;
          ctx.beginPath();
          ctx.moveTo(left, at);
          ctx.lineTo(right, at);
          for (const end of [left, right]) {
            ctx.moveTo(end, at - 4);
            ctx.lineTo(end, at + 4);
          }
          ctx.stroke();
        }
      });
      ctx.restore();
    },
  };

  const gridColour = (c) => c.tick && c.tick.value === 0 ? css('--zero') : css('--grid');
  const title = (text) => ({ display: Boolean(text), text, color: css('--soft') });
  const legend = (display) => ({
    display, position: 'top', align: 'start',
    labels: { usePointStyle: true, boxWidth: 9, boxHeight: 9, padding: 14, color: css('--ink') },
  });

  /** Breaks a label into lines of about `most` letters. */
  function lines(text, most) {
    const out = [];
    for (const word of text.split(' ')) {
      const last = out.length - 1;
      if (last >= 0 && (out[last] + ' ' + word).length <= most) out[last] += ' ' + word;
      else out.push(word);
    }
    return out.map((line) => line.length > most + 6 ? line.slice(0, most + 5) + '\u2026' : line);
  }

  const charts = [];
  function chart(figure, height, config) {
    const box = figure.querySelector('.canvas');
    box.style.height = height + 'px';
    config.options = Object.assign(
      { animation: false, responsive: true, maintainAspectRatio: false }, config.options);
    charts.push(new Chart(figure.querySelector('canvas'), config));
  }

  /** Rows of points with intervals: `series` of {label, colour, style, points: [{row, value, lo, hi}]}. */
  function dots(figure, rows, series, options) {
    const gap = 0.62 / Math.max(1, series.length);
    const ends = series.flatMap((s) => s.points).flatMap((p) => [p.lo, p.hi, p.band, -p.band])
      .filter(Number.isFinite);
    const sets = series.map((s, k) => ({
      label: s.label, borderColor: s.colour, backgroundColor: s.hollow ? css('--sheet') : s.colour,
      pointStyle: s.style || 'circle', pointRadius: 5.5, pointHoverRadius: 7, pointBorderWidth: 2,
      data: s.points.filter((p) => p.value !== null).map((p) => ({
        x: p.value, y: p.row + (options.together ? 0 : (k - (series.length - 1) / 2) * gap),
        lo: p.lo, hi: p.hi, band: p.band, row: p.row,
      })),
    }));
    const perRow = options.together ? 44 : Math.max(44, 17 * series.length + 16);
    const most = narrow() ? 15 : 30;
    const labels = rows.map((row) => lines(row, most));
    chart(figure, rows.length * perRow + (series.length > 1 ? 92 : 62), {
      type: 'scatter',
      data: { datasets: sets },
      plugins: [intervals],
      options: {
        scales: {
          x: {
            min: options.min, max: options.max, suggestedMin: Math.min(0, ...ends),
            suggestedMax: Math.max(0, ...ends), title: title(options.title),
            grid: { color: gridColour }, border: { display: false },
            ticks: { color: css('--soft'), maxTicksLimit: narrow() ? 5 : 9, includeBounds: false },
          },
          y: {
            reverse: true, min: -0.5, max: rows.length - 0.5, border: { display: false },
            afterBuildTicks: (axis) => { axis.ticks = rows.map((_, value) => ({ value })); },
            grid: { display: false },
            ticks: { color: css('--ink'), autoSkip: false, callback: (value) => labels[value] },
          },
        },
        plugins: {
          legend: legend(series.length > 1),
          tooltip: {
            callbacks: {
              label: ({ dataset, raw }) => `${dataset.label}, ${rows[raw.row]}: ${signed(raw.x)}` +
                (raw.lo === undefined || raw.lo === null ? ''
                  : ` (${signed(raw.lo)} to ${signed(raw.hi)})`),
            },
          },
        },
      },
    });
  }

  /** The same horizontal range for the judge's plots and the model's, so that they compare. */
  function differenceRange() {
    let most = 0;
    for (const row of judged.paired) {
      if (row.evaluable && data.subjects.includes(row.policy)) {
        for (const end of row.ci95) most = Math.max(most, Math.abs(end ?? 0));
      }
    }
    return 1.08 * most || 1;
  }

  function pairs(policy, estimator, rows) {
    return judged.paired
      .filter((r) => r.policy === policy && r.estimator === estimator && r.evaluable)
      .map((r) => ({ row: rows.indexOf(r.versus), value: r.diff, lo: r.ci95[0], hi: r.ci95[1] }));
  }

  const baselinesOf = (policy) =>
    [...new Set(judged.paired.filter((r) => r.policy === policy).map((r) => r.versus))];

  const draw = {
    forest(figure, policy) {
      const rows = baselinesOf(policy);
      const range = differenceRange();
      dots(figure, rows.map((r) => 'against ' + r), [
        { label: 'dr', colour: colourOf(policy), points: pairs(policy, 'dr', rows) },
        { label: 'snips', colour: colourOf(policy), style: 'rectRot', hollow: true,
          points: pairs(policy, 'snips', rows) },
      ], { min: -range, max: range, title: 'worse  \u2190  difference per decision  \u2192  better' });
    },

    opinion(figure) {
      const rows = [...new Set(data.subjects.flatMap(baselinesOf))];
      const range = differenceRange();
      dots(figure, rows.map((r) => 'against ' + r), data.subjects.map((policy, k) => ({
        label: policy, colour: data.subjects.length > 1 ? colourOf(policy) : css('--opinion'),
        style: 'triangle', hollow: true, points: pairs(policy, 'model', rows),
      })), { min: -range, max: range, title: 'difference in the dynamics: an opinion' });
    },

    terms(figure) {
      const base = policyOf('none');
      const policies = judged.policies.filter((p) => p !== base && p.total !== null);
      const names = Object.keys(base.terms)
        .filter((t) => policies.some((p) => Math.abs(p.terms[t] - base.terms[t]) > 1e-6));
      const labels = policies.map((p) => p.name);
      chart(figure, labels.length * 46 + 100, {
        data: {
          labels,
          datasets: [{
            type: 'scatter', label: 'total', pointStyle: 'rectRot', pointRadius: 7,
            borderColor: css('--ink'), backgroundColor: css('--sheet'), pointBorderWidth: 2,
            data: policies.map((p) => ({ x: p.total - base.total, y: p.name })),
          }, ...names.map((t, k) => ({
            type: 'bar', label: t, backgroundColor: css('--t' + k % 6), barThickness: 20,
            data: policies.map((p) => p.terms[t] - base.terms[t]),
          }))],
        },
        options: {
          indexAxis: 'y',
          scales: {
            x: { stacked: true, title: title('difference from none'), grid: { color: gridColour },
                 ticks: { color: css('--soft') }, border: { display: false } },
            y: { type: 'category', labels, stacked: true, grid: { display: false }, offset: true,
                 ticks: { color: css('--ink') }, border: { display: false } },
          },
          plugins: {
            legend: legend(true),
            tooltip: { callbacks: { label: ({ dataset, raw }) =>
              `${dataset.label}: ${signed(typeof raw === 'object' ? raw.x : raw)}` } },
          },
        },
      });
    },

    kinds(figure, which) {
      const all = policyOf(data.shaped[0]).profile[which].slice(0, 12);
      dots(figure, all.map((k) => k.kind), data.shaped.map((name, i) => ({
        label: name, colour: colourOf(name), hollow: i > 0 && !data.subjects.includes(name),
        points: policyOf(name).profile[which].slice(0, 12).map((k, row) => ({
          row, value: k.mean,
          lo: k.mean === null ? null : Math.max(-1, k.mean - k.sd),
          hi: k.mean === null ? null : Math.min(1, k.mean + k.sd),
        })),
      })), { min: -1.05, max: 1.05, title: 'boosts  \u2190  mean action  \u2192  demotes' });
    },

    feature(figure, feature) {
      const about = FEATURES[feature] || { name: feature };
      const sets = data.shaped.map((name) => {
        const curve = policyOf(name).profile.by_feature.find((c) => c.feature === feature);
        return line(name, colourOf(name), merged(curve));
      });
      const scale = about.log ? logTicks(about.log) : {};
      chart(figure, 215, {
        type: 'line', data: { datasets: sets },
        options: small(about.name, {
          x: { type: 'linear', ...scale, grid: { display: false },
               ticks: { color: css('--soft'), maxTicksLimit: 5, maxRotation: 0, ...(scale.ticks || {}) } },
          y: { min: -1.05, max: 1.05, grid: { color: gridColour }, border: { display: false },
               afterBuildTicks: (a) => { a.ticks = [-1, 0, 1].map((value) => ({ value })); },
               ticks: { color: css('--soft') } },
        }, data.shaped.length > 1),
      });
    },

    histogram(figure, name) {
      const counts = policyOf(name).profile.histogram;
      const rows = counts.reduce((a, b) => a + b, 0);
      const width = 2 / counts.length;
      chart(figure, 200, {
        type: 'bar',
        data: {
          labels: counts.map((_, i) => (-1 + width * (i + 0.5)).toFixed(2)),
          datasets: [{ label: name, backgroundColor: colourOf(name), categoryPercentage: 1,
                       barPercentage: 0.9, data: counts.map((n) => n ? n / rows : null) }],
        },
        options: small(name, {
          x: { grid: { display: false }, ticks: { color: css('--soft'), autoSkip: false, maxRotation: 0,
               callback: (_, i) => ({ 0: '\u22121', 10: '0', 20: '+1' })[i] ?? null } },
          y: { type: 'logarithmic', min: 1e-4, max: 1, grid: { color: css('--grid') },
               border: { display: false },
               afterBuildTicks: (a) => { a.ticks = [1e-4, 1e-3, 1e-2, 0.1, 1].map((value) => ({ value })); },
               ticks: { color: css('--soft'), callback: (v) => +(100 * v).toPrecision(1) + ' %' } },
        }),
      });
    },

    effects(figure) {
      const c = data.certificate;
      const rows = Object.keys(c.outcomes);
      const of = (key) => rows.map((name, row) => ({ row, value: c.outcomes[name][key] }));
      const judge = rows.map((name, row) => ({
        row, value: c.outcomes[name].data_effect, lo: c.outcomes[name].data_ci95[0],
        hi: c.outcomes[name].data_ci95[1], band: c.outcomes[name].null95,
      }));
      judge.push({ row: rows.length, value: c.placebo.data_effect, lo: c.placebo.data_ci95[0],
                   hi: c.placebo.data_ci95[1], band: c.placebo.null95 });
      dots(figure, [...rows.map((r) => r.replace('_', ' ')), 'wait before (placebo)'], [
        { label: 'recording, 95 % interval', colour: css('--s0'), points: judge },
        { label: 'dynamics', colour: css('--opinion'), style: 'triangle', hollow: true,
          points: of('effect') },
      ], { together: true, title: 'change of ln(1 + \u00b5s) per unit of action' });
    },

    groups(figure) {
      const groups = data.certificate.groups.slice(0, 14);
      dots(figure, groups.map((g) => g.comm), [
        { label: 'recording, 95 % interval', colour: css('--s0'),
          points: groups.map((g, row) => ({ row, value: g.data_effect, lo: g.data_ci95[0],
                                            hi: g.data_ci95[1] })) },
        { label: 'dynamics', colour: css('--opinion'), style: 'triangle', hollow: true,
          points: groups.map((g, row) => ({ row, value: g.effect })) },
      ], { together: true, title: 'change of ln(1 + \u00b5s) per unit of action' });
    },

    learning(figure, key) {
      const at = (f) => data.training.filter((p) => p[key] !== null)
        .map((p) => ({ x: p.update, y: f(p) }));
      const points = at((p) => p[key]);
      const sets = [line(key, css(key === 'reward' ? '--s0' : '--heuristic'), points)];
      if (key === 'reward') {
        const edge = { pointRadius: 0, borderWidth: 0, backgroundColor: css('--band') + '88' };
        sets.push({ ...edge, label: 'sd', data: at((p) => p.reward + p.reward_std), fill: '+1' },
                  { ...edge, label: 'sd', data: at((p) => p.reward - p.reward_std), fill: false });
      }
      const name = key === 'reward' ? 'Reward in training' : 'Gain over doing nothing, held out';
      const options = small(name, {
        x: { type: 'linear', title: title('update'), grid: { display: false },
             ticks: { color: css('--soft'), precision: 0, maxTicksLimit: 7 } },
        y: { grid: { color: css('--grid') }, border: { display: false },
             ticks: { color: css('--soft'), maxTicksLimit: 7 } },
      });
      options.plugins.tooltip = { filter: (item) => item.dataset.label !== 'sd' };
      chart(figure, 290, { type: 'line', data: { datasets: sets }, options });
    },

    trace(figure, key) {
      const names = { kl: 'KL to the reference', entropy: 'Entropy', clip_fraction: 'Clipped share',
                      grad_norm: 'Gradient norm', learning_rate: 'Learning rate' };
      const points = data.training.map((p) => ({ x: p.update, y: p[key] }));
      chart(figure, 180, {
        type: 'line', data: { datasets: [line(names[key], css('--s0'), points)] },
        options: small(names[key], {
          x: { type: 'linear', grid: { display: false },
               ticks: { color: css('--soft'), maxTicksLimit: 5, precision: 0 } },
          y: { grid: { color: css('--grid') }, border: { display: false },
               ticks: { color: css('--soft'), maxTicksLimit: 4,
                        callback: (v) => v !== 0 && Math.abs(v) < 1e-3 ? v.toExponential(0) : +v.toPrecision(3) } },
        }),
      });
    },
  };

  const line = (label, colour, points) => ({
    label, data: points, borderColor: colour, backgroundColor: colour, borderWidth: 2,
    pointRadius: points.length > 20 ? 0 : 2.5, pointHoverRadius: 5, tension: 0,
  });

  const small = (heading, scales) => ({
    scales, interaction: { mode: 'nearest', axis: 'x', intersect: false },
    plugins: { legend: { display: false },
               title: { ...title(heading), align: 'start', color: css('--ink'),
                        font: { size: 13, weight: '600' }, padding: { bottom: 8 } } },
  });

  const FEATURES = {
    wake_irregularity: { name: 'Irregularity of wakes (0: a metronome)' },
    timer_share: { name: 'Share woken by a timer' },
    irq_share: { name: 'Share woken by network or disk' },
    task_share: { name: 'Share woken by other tasks' },
    cpu_since_sleep: { name: 'CPU time since last sleep', log: 'us' },
    burst_ema: { name: 'Usual burst of CPU', log: 'us' },
    wait_ema: { name: 'Usual wait', log: 'us' },
    runnable: { name: 'Tasks waiting to run', log: 'count' },
  };

  /** Bins of equally many rows can share a value: their mean is one point. */
  function merged(curve) {
    const points = [];
    curve.at.forEach((x, i) => {
      const last = points[points.length - 1];
      if (last && Math.abs(last.x - x) < 1e-9) {
        last.y += (curve.mean[i] - last.y) / ++last.n;
      } else {
        points.push({ x, y: curve.mean[i], n: 1 });
      }
    });
    return points;
  }

  /** Ticks for a feature that is ln(1 + quantity). */
  function logTicks(unit) {
    const marks = unit === 'us'
      ? [[0, '0'], [1, '1 \u00b5s'], [10, '10 \u00b5s'], [100, '100 \u00b5s'], [1e3, '1 ms'],
         [1e4, '10 ms'], [1e5, '100 ms'], [1e6, '1 s'], [1e7, '10 s'], [1e8, '100 s']]
      : [0, 1, 3, 10, 30, 100, 300].map((n) => [n, String(n)]);
    const name = new Map(marks.map(([n, text]) => [Math.log1p(n), text]));
    return {
      afterBuildTicks: (axis) => {
        const inside = [...name.keys()].filter((v) => v >= axis.min - 1e-9 && v <= axis.max + 1e-9);
        const step = Math.ceil(inside.length / 5);
        axis.ticks = inside.filter((_, i) => i % step === 0).map((value) => ({ value }));
      },
      ticks: { autoSkip: false, callback: (v) => name.get(v) },
    };
  }

  function drawAll() {
    while (charts.length) charts.pop().destroy();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 13;
    Chart.defaults.color = css('--ink');
    for (const figure of document.querySelectorAll('figure.plot')) {
      draw[figure.dataset.plot](figure, figure.dataset.subject);
    }
  }

  root.classList.add('js');
  const folded = document.querySelectorAll('details.figures');
  const fold = (open) => folded.forEach((d) => { d.open = open; });
  fold(false);
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  let wasNarrow = narrow();
  addEventListener('resize', () => {
    if (narrow() !== wasNarrow) {
      wasNarrow = narrow();
      drawAll();
    }
  });
  // On paper: light colours and all figures.
  addEventListener('beforeprint', () => { root.classList.add('printing'); fold(true); drawAll(); });
  addEventListener('afterprint', () => { root.classList.remove('printing'); fold(false); drawAll(); });
})();

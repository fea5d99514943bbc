"""The script of a release report: cells, hull, edges and curves on two canvases; no library, no request."""

__all__ = ["ATLAS"]

ATLAS = r"""
"use strict";
(function () {
  var story = JSON.parse(document.getElementById("story").textContent);
  var dark = matchMedia("(prefers-color-scheme: dark)").matches;
  var ink = dark ? "#e4e6ea" : "#22252b", soft = dark ? "#3a404b" : "#d9d6cf", faint = dark ? "#23272e" : "#efede8";
  var map = document.getElementById("map"), curves = document.getElementById("curves");
  var slider = document.getElementById("step"), at = document.getElementById("at");
  var colour = document.getElementById("colour"), edges = document.getElementById("edges");
  var points = story.points, half = story.cell / 2, owner = story.owner;
  slider.max = story.steps.length - 1;
  var bytes = function (text) {
    var raw = atob(text), out = new Uint8Array(raw.length);
    for (var i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  };
  story.scenes.forEach(function (scene) {
    scene.mask = bytes(scene.possible);
    scene.shade = bytes(scene.degrees);
  });
  var low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  points.forEach(function (p) {
    for (var k = 0; k < 2; k++) { low[k] = Math.min(low[k], p[k] - half); high[k] = Math.max(high[k], p[k] + half); }
  });
  var possible = function (scene, i) { return (scene.mask[i >> 3] >> (i & 7)) & 1; };
  var mix = function (t, kind) {
    var from = dark ? [30, 36, 44] : [243, 246, 246], to = kind === "belief" ? [11, 85, 99] : [70, 60, 150];
    if (dark) to = kind === "belief" ? [120, 226, 214] : [180, 170, 255];
    return "rgb(" + from.map(function (a, k) { return Math.round(a + (to[k] - a) * t); }).join(",") + ")";
  };
  var prepare = function (canvas, tall) {
    var ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth;
    canvas.width = wide * ratio; canvas.height = tall * ratio; canvas.style.height = tall + "px";
    var pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    return { pen: pen, wide: wide, tall: tall };
  };
  var drawMap = function (t) {
    var wide = map.clientWidth, span = [high[0] - low[0], high[1] - low[1]];
    var pad = 12, scale = Math.min((wide - 2 * pad) / span[0], 560 / span[1]);
    var paper = prepare(map, span[1] * scale + 2 * pad), pen = paper.pen;
    var left = (wide - span[0] * scale) / 2;
    var X = function (x) { return left + (x - low[0]) * scale; };
    var Y = function (y) { return paper.tall - pad - (y - low[1]) * scale; };
    var step = story.steps[t], scene = story.scenes[step.scene], kind = colour.value;
    var shade = kind === "belief" ? bytes(step.belief) : scene.shade;
    var side = Math.max(1.5, story.cell * scale - (story.cell * scale > 6 ? 1 : 0));
    points.forEach(function (p, i) {
      pen.fillStyle = possible(scene, i) ? mix(shade[i] / 255, kind) : faint;
      pen.fillRect(X(p[0]) - side / 2, Y(p[1]) - side / 2, side, side);
    });
    var line = function (i, j) {
      pen.beginPath(); pen.moveTo(X(points[i][0]), Y(points[i][1]));
      pen.lineTo(X(points[j][0]), Y(points[j][1])); pen.stroke();
    };
    if (edges.checked) {
      pen.strokeStyle = ink; pen.globalAlpha = 0.18; pen.lineWidth = 0.6;
      story.edges.forEach(function (e) { if (possible(scene, e[0]) && possible(scene, e[1])) line(e[0], e[1]); });
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = "#e0218a"; pen.lineWidth = 2;
    scene.exposed.forEach(function (i) {
      pen.strokeRect(X(points[i][0]) - side / 2, Y(points[i][1]) - side / 2, side, side);
    });
    pen.setLineDash([6, 4]);
    scene.repaired.forEach(function (e) { line(e[0], e[1]); });
    pen.setLineDash([]);
    var hull = function (center, fill, stroke) {
      pen.beginPath();
      scene.hull.forEach(function (v, k) {
        pen[k ? "lineTo" : "moveTo"](X(center[0] + v[0]), Y(center[1] + v[1]));
      });
      pen.closePath(); pen.fillStyle = fill; pen.strokeStyle = stroke; pen.lineWidth = 1.5;
      if (fill) pen.fill();
      pen.stroke();
    };
    hull(step.released, "", "#3f8f9b");
    pen.strokeStyle = "#f2a33a"; pen.globalAlpha = 0.5; pen.lineWidth = 1.2; pen.beginPath();
    for (var s = Math.max(0, t - 12); s <= t; s++) {
      var r = story.steps[s].released;
      pen[s > Math.max(0, t - 12) ? "lineTo" : "moveTo"](X(r[0]), Y(r[1]));
    }
    pen.stroke(); pen.globalAlpha = 1;
    if (owner) {
      var truth = points[owner.truth[t]];
      hull(truth, "rgba(214,69,80,.14)", "#d64550");
      pen.strokeStyle = "#d64550"; pen.lineWidth = 1.6; pen.beginPath();
      for (var q = 0; q <= t; q++) {
        var p = points[owner.truth[q]];
        pen[q ? "lineTo" : "moveTo"](X(p[0]), Y(p[1]));
      }
      pen.stroke();
      dot(pen, X(truth[0]), Y(truth[1]), 5, "#d64550");
    }
    dot(pen, X(step.released[0]), Y(step.released[1]), 6, "#f2a33a");
  };
  var dot = function (pen, x, y, size, fill) {
    pen.beginPath(); pen.arc(x, y, size, 0, 7); pen.fillStyle = fill; pen.fill();
    pen.strokeStyle = dark ? "#131519" : "#ffffff"; pen.lineWidth = 1.5; pen.stroke();
  };
  var drawCurves = function (t) {
    var paper = prepare(curves, 330), pen = paper.pen, rows = 3, tall = 96, left = 58, right = 12;
    var n = story.steps.length, wide = paper.wide - left - right;
    var X = function (s) { return left + (n > 1 ? s / (n - 1) : 0.5) * wide; };
    pen.font = "12px system-ui, sans-serif";
    var panel = function (row, name, series, dots, dashed, cap) {
      var top = 16 + row * (tall + 12), all = [];
      series.forEach(function (one) { all = all.concat(one.values); });
      if (dots) all = all.concat(dots);
      if (dashed) all.push(dashed);
      var most = Math.max.apply(null, all.filter(isFinite)) * 1.08 || 1;
      if (cap) most = Math.min(most, cap);
      var Y = function (v) { return top + tall - 6 - Math.min(1, v / most) * (tall - 22); };
      pen.fillStyle = ink; pen.textAlign = "left"; pen.fillText(name, left, top + 4);
      pen.strokeStyle = soft; pen.lineWidth = 1; pen.beginPath();
      pen.moveTo(left, Y(0)); pen.lineTo(left + wide, Y(0)); pen.stroke();
      pen.textAlign = "right"; pen.fillStyle = ink;
      pen.fillText("0", left - 6, Y(0) + 4); pen.fillText(short(most / 1.08), left - 6, Y(most / 1.08) + 4);
      series.forEach(function (one) {
        pen.strokeStyle = one.stroke; pen.lineWidth = 1.8; pen.beginPath();
        one.values.forEach(function (v, s) { pen[s ? "lineTo" : "moveTo"](X(s), Y(v)); });
        pen.stroke();
      });
      if (dashed) {
        pen.strokeStyle = "#a3162a"; pen.setLineDash([5, 4]); pen.beginPath();
        pen.moveTo(left, Y(dashed)); pen.lineTo(left + wide, Y(dashed)); pen.stroke(); pen.setLineDash([]);
      }
      if (dots) dots.forEach(function (v, s) { pen.beginPath(); pen.arc(X(s), Y(v), 2, 0, 7); pen.fillStyle = "#d64550"; pen.fill(); });
      pen.strokeStyle = "#f2a33a"; pen.lineWidth = 1; pen.beginPath();
      pen.moveTo(X(t), top + 8); pen.lineTo(X(t), top + tall - 6); pen.stroke();
    };
    var of = function (name) { return story.steps.map(function (s) { return story.scenes[s.scene][name]; }); };
    panel(0, "expected error", [{ values: of("error"), stroke: "#2b8b93" }], owner && owner.error);
    panel(1, "protection: least and typical", [{ values: of("least"), stroke: "#8a80d8" },
      { values: of("typical"), stroke: "#463c96" }], owner && owner.protection);
    panel(2, "log-odds of joined states: by the release, and in the end (cut off at 16 epsilon)", [
      { values: story.steps.map(function (s) { return s.leak[0]; }), stroke: "#2b8b93" },
      { values: story.steps.map(function (s) { return s.leak[1]; }), stroke: "#c2571a" }], null, story.steps[0].leak[2], 16 * story.steps[0].leak[2]);
  };
  var short = function (v) {
    if (v >= 1e6) return (v / 1e6).toPrecision(3) + "M";
    if (v >= 1e4) return (v / 1e3).toPrecision(3) + "k";
    return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toPrecision(2);
  };
  var tell = function (t) {
    var step = story.steps[t], scene = story.scenes[step.scene], count = 0;
    for (var i = 0; i < points.length; i++) count += possible(scene, i);
    var facts = [[count, "possible states"], [short(scene.error), "expected error"],
      [scene.least + " / " + scene.typical, "least / typical protection"],
      [scene.exposed.length, "exposed before repair"], [scene.repaired.length, "edges added"],
      [step.leak[1] >= 1e6 ? "beyond measure" : step.leak[1].toFixed(2),
        "log-odds moved in the end (one release: " + step.leak[2] + ")"],
      [step.leak[3] >= 1e6 ? "beyond measure" : short(step.leak[3]), "the same, unlikeliest joined pair"]];
    if (owner) facts.push([short(owner.error[t]), "true error"], [owner.protection[t], "protection of the true state"]);
    var box = document.getElementById("numbers");
    box.textContent = "";
    facts.forEach(function (fact) {
      var card = document.createElement("div"), big = document.createElement("b"), small = document.createElement("span");
      big.textContent = fact[0]; small.textContent = fact[1];
      card.appendChild(big); card.appendChild(small); box.appendChild(card);
    });
    at.textContent = "step " + (t + 1) + " of " + story.steps.length;
  };
  var draw = function () { var t = +slider.value; drawMap(t); drawCurves(t); tell(t); };
  [slider, colour, edges].forEach(function (one) { one.addEventListener("input", draw); });
  window.addEventListener("resize", draw);
  var timer = null, play = document.getElementById("play");
  play.addEventListener("click", function () {
    if (timer) { clearInterval(timer); timer = null; play.textContent = "play"; return; }
    play.textContent = "stop";
    timer = setInterval(function () { slider.value = (+slider.value + 1) % story.steps.length; draw(); }, 400);
  });
  if (location.hash.slice(1)) slider.value = location.hash.slice(1);
  draw();
})();
"""  # noqa: E501 - it is one string, in another language

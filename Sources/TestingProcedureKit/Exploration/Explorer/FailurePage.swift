/// A failing schedule as a self-contained HTML page, which needs no network connection.
///
/// The page is a table with a row for each stretch of steps, and a column for each task. The table is complete even if scripts are
/// disabled. The page's script highlights one row at a time and shows its details.
struct FailurePage {
  /// The maximum number of rows. A longer trace is abridged in the middle.
  private static let longest = 2_000

  let failure: ExplorationFailure

  /// The text of the page.
  var html: String {
    let title = Self.escaped(failure.summary)
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(title)</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      <header>
      <h1>\(title)</h1>
      \(failure.problems.map { "<pre class=\"problem\">\(Self.escaped("\($0)"))</pre>" }.joined(separator: "\n"))
      </header>
      \(lanes)
      <details>
      <summary>The complete report as text</summary>
      <pre>\(Self.escaped("\(failure)"))</pre>
      </details>
      <script>
      \(Self.script)
      </script>
      </body>
      </html>

      """
  }

  private var lanes: String {
    guard let trace = failure.trace, !trace.isEmpty else {
      return "<p>The steps are unknown, because the schedule was not run again.</p>"
    }
    let stretches = trace.stretches
    let tasks = Set(stretches.map(\.task)).sorted()
    let half = Self.longest / 2
    let isLong = stretches.count > Self.longest
    var rows = (isLong ? stretches.prefix(half) + stretches.suffix(half) : stretches[...]).map {
      row($0, in: trace, tasks)
    }
    if isLong {
      let left = (stretches.count - Self.longest).counting("more line")
      rows.insert("<tr class=\"gap\"><th></th><td colspan=\"\(tasks.count)\">… \(left)</td></tr>", at: half)
    }
    let heads = tasks.map { "<th scope=\"col\">task \(Self.escaped(trace.title(of: $0)))</th>" }.joined()
    return """
      <nav aria-label="Steps">
      <button id="first">First</button>
      <button id="back">Back</button>
      <output id="position" for="first back forward last"></output>
      <button id="forward">Forward</button>
      <button id="last">Last</button>
      <span class="hint">or the keys ↑ ↓ Home End</span>
      </nav>
      <section id="details" aria-live="polite" aria-label="The current step"></section>
      <div class="lanes">
      <table>
      <caption>Time runs downwards. Each column is a task; only one task runs at a time.</caption>
      <thead><tr><th scope="col">step</th>\(heads)</tr></thead>
      <tbody>
      \(rows.joined(separator: "\n"))
      </tbody>
      </table>
      </div>
      """
  }

  private func row(_ stretch: ScheduleTrace.Stretch, in trace: ScheduleTrace, _ tasks: [Int]) -> String {
    let facts = [
      ("actor", stretch.actor), ("procedure", stretch.procedure), ("function", stretch.place?.function),
      ("place", stretch.place?.location), ("file", stretch.place.map { "\($0.file):\($0.line)" }),
    ]
    let data = facts.compactMap { name, value in value.map { " data-\(name)=\"\(Self.escaped($0))\"" } }.joined()
    var text = [
      stretch.isSwitch ? "<strong>switch</strong>" : nil,
      stretch.place.map { "<code>\(Self.escaped($0.function))</code> <small>\(Self.escaped($0.location))</small>" },
    ]
    text.append(stretch.procedure.map { "<small>procedure “\(Self.escaped($0))”</small>" })
    text.append(stretch.actor.map { "<small>on actor \(Self.escaped($0))</small>" })
    let events = stretch.events.map { event in
      "<li\(event.hasPrefix("check failed") ? " class=\"failed\"" : "")>\(Self.escaped(event))</li>"
    }
    text.append(events.isEmpty ? nil : "<ul>\(events.joined())</ul>")
    let cell = text.compactMap(\.self).joined(separator: "<br>")
    let cells = tasks.map { task in
      guard task == stretch.task else { return "<td></td>" }
      let title = Self.escaped(trace.title(of: task))
      return "<td class=\"runs\" data-task=\"\(title)\"\(data)>\(cell.isEmpty ? "<small>runs</small>" : cell)</td>"
    }
    return "<tr class=\"step\"><th scope=\"row\">\(stretch.stepsInWords)</th>\(cells.joined())</tr>"
  }

  /// Escapes the characters in `text` that have a special meaning in HTML. The result can also be used as the value of an attribute.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      // Control characters other than white space are not allowed in a page.
      case _ where scalar.value < 32 && scalar != "\n" && scalar != "\t" || scalar.value == 127: escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static let style = """
    :root { color-scheme: light dark; --line: #8884; --lane: #0a6cff18; --now: #ffd54a; --ink: #1a1a1a; --bad: #b3261e; }
    @media (prefers-color-scheme: dark) { :root { --lane: #4c9aff26; --now: #8a6d00; --ink: #f2f2f2; --bad: #ff8a80; } }
    body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 80rem; padding: 1rem; }
    h1 { font-size: 1.35rem; margin: 0 0 .5rem; }
    pre { white-space: pre-wrap; overflow-wrap: anywhere; }
    .problem { color: var(--bad); margin: .25rem 0; font-weight: 600; }
    nav, #details { position: sticky; background: Canvas; padding: .5rem 0; }
    nav { top: 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
    button { font: inherit; padding: .3rem .9rem; }
    button:focus-visible, summary:focus-visible, .lanes:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
    .hint { opacity: .75; }
    #details { top: 3.4rem; min-height: 5.2rem; border-bottom: 1px solid var(--line); }
    #details p { margin: 0; }
    .lanes { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    caption { text-align: start; padding: .5rem 0; opacity: .75; }
    th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: start; vertical-align: top; }
    td { min-width: 11rem; overflow-wrap: anywhere; }
    tbody th { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
    td.runs { background: var(--lane); }
    tr.step { cursor: pointer; scroll-margin-top: 12rem; }
    tr[aria-current] > th, tr[aria-current] > td.runs { background: var(--now); }
    tr[aria-current] > th::before { content: "▶ "; }
    ul { margin: .25rem 0 0; padding-inline-start: 1.1rem; }
    .failed { color: var(--bad); font-weight: 600; }
    """

  private static let script = """
    const rows = [...document.querySelectorAll('tr.step')];
    const byId = id => document.getElementById(id);
    let current = -1;
    function line(text) { const p = document.createElement('p'); p.textContent = text; return p; }
    function show(index, scrolls = true) {
      index = Math.max(0, Math.min(rows.length - 1, index));
      if (index === current) return;
      if (current >= 0) rows[current].removeAttribute('aria-current');
      current = index;
      const row = rows[current], cell = row.querySelector('.runs'), facts = cell.dataset;
      row.setAttribute('aria-current', 'step');
      if (scrolls) row.scrollIntoView({ block: 'nearest' });
      const isFirst = rows.findIndex(row => row.querySelector('.runs').dataset.task === facts.task) === current;
      const steps = row.querySelector('th').textContent;
      byId('position').textContent = (current + 1) + ' of ' + rows.length;
      byId('first').disabled = byId('back').disabled = current === 0;
      byId('last').disabled = byId('forward').disabled = current === rows.length - 1;
      const events = [...cell.querySelectorAll('li')].map(item => item.textContent);
      byId('details').replaceChildren(
        line('Step ' + steps + ': task ' + facts.task + ' runs' + (facts.actor ? ' on the actor ' + facts.actor : '')
          + (facts.procedure ? ' in the procedure “' + facts.procedure + '”' : '') + '.'),
        line(facts.function ? 'Resumed or created in ' + facts.function + ' at ' + facts.file
          : isFirst ? 'This is the first step of the task.' : 'The place at which the task was resumed is unknown.'),
        line(events.length ? 'Events: ' + events.join('; ') + '.' : 'The task has no events in this step.'));
    }
    if (rows.length) {
      byId('first').onclick = () => show(0);
      byId('back').onclick = () => show(current - 1);
      byId('forward').onclick = () => show(current + 1);
      byId('last').onclick = () => show(rows.length - 1);
      rows.forEach((row, index) => row.onclick = () => show(index));
      document.addEventListener('keydown', event => {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const moves = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -rows.length, End: rows.length };
        if (!(event.key in moves)) return;
        event.preventDefault();
        show(current + moves[event.key]);
      });
      show(0, false);
    }
    """
}

extension ExplorationFailure {
  /// The failure as an HTML page, with the tasks as lanes, and with buttons and keyboard shortcuts for moving from step to step.
  ///
  /// The page is self-contained and needs no network connection. In Swift Testing, it is attached to the test; `swift test
  /// --attachments-path DIRECTORY` writes the attachments to a directory.
  public var html: String { FailurePage(failure: self).html }
}

/// The colours and patterns of a timeline. The six colours for procedures were checked for protanopia, deuteranopia and tritanopia, so
/// people who are colour-blind can distinguish them. Text in a bar has a contrast ratio of at least 4.5, and no outcome is shown by colour
/// alone.
enum TimelineStyle {
  /// Returns the name of the style for an outcome.
  static func name(of outcome: RunRecord.Outcome?) -> String { outcome?.rawValue ?? "open" }

  /// Returns the symbol to show before the name of a run.
  static func sign(of outcome: RunRecord.Outcome?) -> String {
    switch outcome {
    case .failed: "✕ "
    case .cancelled: "⊘ "
    case .reused: "↺ "
    case .finished, .skipped, .ignored, nil: ""
    }
  }

  /// Returns the name of the pattern that covers the bar of a run; `nil` if nothing covers it.
  static func pattern(of outcome: RunRecord.Outcome?) -> String? {
    switch outcome {
    case .failed: "timeline-failure"
    case .cancelled, .skipped, .ignored: "timeline-stop"
    case .finished, .reused, nil: nil
    }
  }

  /// The patterns and the styles of a picture. Each picture contains all of them, so a page with several pictures defines them more than
  /// once.
  static let definitions = """
    <defs>\
    <pattern id="timeline-failure" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
    <rect class="stripe" width="2" height="6"/></pattern>\
    <pattern id="timeline-stop" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="stripe" width="2" height="2"/></pattern>\
    </defs>
    <style>
    .timeline.scaled { max-width: 100%; height: auto; }
    .timeline text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #222; }
    .timeline.small text { font-size: 8px; }
    .timeline .title, .timeline .queue { font-weight: 600; }
    .timeline .label, .timeline .tick { fill: #555; }
    .timeline .name { fill: #fff; pointer-events: none; }
    .timeline .name.beside { fill: #222; }
    .timeline .name.across { fill: #222; stroke: #fff; stroke-width: 3px; paint-order: stroke; }
    .timeline .ground { fill: #fff; }
    .timeline .nested, .timeline .stripe { fill: #fff; fill-opacity: 0.62; pointer-events: none; }
    .timeline .stripe { fill-opacity: 0.5; }
    .timeline .lane { fill: #f4f5f7; }
    .timeline .mark { stroke: #d5d8de; }
    .timeline .c0 { fill: #2a66d9; } .timeline .c1 { fill: #8f7200; } .timeline .c2 { fill: #620a2a; }
    .timeline .c3 { fill: #1a5c10; } .timeline .c4 { fill: #b0529a; } .timeline .c5 { fill: #1d1670; }
    .timeline .other { fill: #6b7280; }
    .timeline .wait { fill-opacity: 0.4; }
    .timeline .open .run { fill-opacity: 0.6; stroke: #222; stroke-dasharray: 3 2; }
    .timeline .failed .end { fill: #d03020; }
    .timeline .critical, .timeline .link { fill: none; stroke: #000; stroke-width: 2; pointer-events: none; }
    .timeline .link { visibility: hidden; stroke-width: 3; stroke-linecap: round; }
    .timeline .bar:hover .link { visibility: visible; }
    .timeline .bar:hover .run { stroke: #222; stroke-width: 2; }
    @media screen and (prefers-color-scheme: dark) {
    .timeline text, .timeline .name.beside { fill: #e6e8ec; }
    .timeline .label, .timeline .tick { fill: #a7adb8; }
    .timeline .name { fill: #15181d; }
    .timeline .name.across { fill: #e6e8ec; stroke: #15181d; }
    .timeline .ground, .timeline .nested, .timeline .stripe { fill: #15181d; }
    .timeline .lane { fill: #1d2127; }
    .timeline .mark { stroke: #343a44; }
    .timeline .c0 { fill: #4f8cf5; } .timeline .c1 { fill: #c4b81a; } .timeline .c2 { fill: #ffd29c; }
    .timeline .c3 { fill: #2f9a48; } .timeline .c4 { fill: #c27fa6; } .timeline .c5 { fill: #b4aef8; }
    .timeline .other { fill: #9aa1ad; }
    .timeline .failed .end { fill: #ff6a50; }
    .timeline .critical, .timeline .link, .timeline .bar:hover .run, .timeline .open .run { stroke: #fff; }
    }
    </style>
    """
}

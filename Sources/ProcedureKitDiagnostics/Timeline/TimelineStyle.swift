/// The colours and patterns of a timeline. The colours can be distinguished by people who are colour-blind, and no outcome is shown by
/// colour alone.
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

  static let definitions = """
    <defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
    <rect width="6" height="6" fill="#d55e00"/><rect width="2" height="6" fill="#a34700"/></pattern></defs>
    <style>
    .timeline text { font: 11px ui-sans-serif, system-ui, sans-serif; fill: #222; }
    .timeline .title { font-weight: 600; }
    .timeline .label, .timeline .tick { fill: #555; }
    .timeline .name { fill: #fff; pointer-events: none; }
    .timeline .ground { fill: #fff; }
    .timeline .lane { fill: #f4f5f7; }
    .timeline .mark { stroke: #d5d8de; stroke-width: 1; }
    .timeline .finished { fill: #2f6fb3; }
    .timeline .reused { fill: #00866b; }
    .timeline .failed { fill: url(#hatch); }
    .timeline .cancelled, .timeline .skipped, .timeline .ignored { fill: #6f7480; }
    .timeline .open { fill: #8a6d00; }
    .timeline .wait { opacity: 0.4; }
    .timeline g:hover .run { stroke: #222; }
    @media (prefers-color-scheme: dark) {
    .timeline text { fill: #e6e8ec; }
    .timeline .label, .timeline .tick { fill: #a7adb8; }
    .timeline .ground { fill: #15181d; }
    .timeline .lane { fill: #1d2127; }
    .timeline .mark { stroke: #343a44; }
    .timeline .wait { opacity: 0.7; }
    .timeline g:hover .run { stroke: #e6e8ec; }
    }
    </style>
    """
}

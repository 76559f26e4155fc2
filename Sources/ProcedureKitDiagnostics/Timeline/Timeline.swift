import ProcedureKit

/// A picture of a recording. It contains a lane for each slot, which shows the executions in that slot from left to right.
///
/// ```swift
/// let timeline = Timeline(await recorder.finish())
/// try Data(timeline.svg.utf8).write(to: URL(filePath: "timeline.svg"))
/// ```
///
/// The elements of a `map` have the same colour, as do procedures whose names begin with the same word. An execution is pale while its body
/// is waiting for nested work, such as the nodes of a graph. A thin strip before an execution shows how long the run waited while its lane
/// was free. The run may have waited for a dependency, a condition, a resource, or its next attempt. Outlines mark the ``CriticalPath``. A
/// failed run is hatched and marked with ✕ and a red edge.
///
/// The name of a run is shown in its bar or next to the bar, if there is room. The tooltip of each execution shows the name, the times,
/// and, for a failure, the reason. In a browser, lines lead from the run under the pointer to its dependencies.
public struct Timeline: Sendable {
  /// The runs to draw.
  public var recording: RunRecording
  /// The width in points, which must be at least 400. In a narrower window, the picture is scaled down.
  public var width: Int

  /// Creates a picture of a recording.
  ///
  /// - Parameters:
  ///   - recording: The runs to draw.
  ///   - width: The width of the picture in points.
  public init(_ recording: RunRecording, width: Int = 1_200) {
    self.recording = recording
    self.width = max(width, 400)
  }

  /// The picture as SVG, in light or dark colours depending on the viewer's settings.
  ///
  /// - Complexity: O(n log n) for n executions.
  public var svg: String { TimelineDrawing(self, path: CriticalPath(recording)).svg }
}

extension Run {
  /// The progress of the run as a stream, which ends when the run ends. A slow reader receives only the newest value.
  var progressValues: AsyncStream<ProcedureProgress> {
    let (node, hasWaited) = (progressNode, Locked(false))
    // The node of a run that has finished ends after the lock is released, so it may not have ended yet.
    if let outcome = reported.outcome { node.ended(outcome.withoutValue) }
    return node.subscribe().stream { [weak run = reported] in
      // Reading the progress does not count as observing a failure, so the stream does not keep the run alive.
      guard let run else { return await $0() }
      // Another task of the body can report progress, or run procedures that report it.
      return await ProcedureContext.waitingForEvent(of: run, hasWaited, mayReadItself: true, $0)
    }
  }

  /// The run's node in the progress tree. A run and its layers share one node. The node is created on first use, together with the nodes of
  /// all enclosing runs.
  package var progressNode: ProgressNode {
    let run = reported
    let (existing, started) = run.core.read { ($0.runs[run].details.extensions.progress, $0.runs[run].started) }
    if let existing { return existing }
    let isNode = run.kind == .node || run.kind == .bodyOnlyNode
    let graph = isNode ? run.parent?.currentGraph : nil
    // A node that is still running after its graph ends has no parent.
    let around = graph?.progressNode ?? (isNode ? nil : run.parent?.progressNode)
    let made = ProgressNode(
      run.id, in: around, ProgressState(start: started < 0 ? nil : ProcedureInstant(nanoseconds: started)),
      time: run.core.time, run: run)
    let (part, outcome) = run.core.update { runs in
      let part = runs[run].details.extensions.progress ?? made
      runs[run].details.extensions.progress = part
      return (part, run.outcome?.withoutValue)
    }
    guard part === made else { return part }
    if let graph {
      graph.nodeReported(run.id)
    } else {
      around?.adopt(run)
    }
    run.adoptParts(into: part)
    // A run that has not ended yet will end its progress node itself.
    if let outcome { part.ended(outcome) }
    return part
  }

  /// Whether the progress of the run, or of an enclosing run, is being reported or read.
  var isProgressRead: Bool {
    ancestors.contains { run in run.core.read { $0.runs[run.reported].details.extensions.progress != nil } }
  }

  /// Whether the body, or the body of a layer, is executing a graph.
  private var executesGraph: Bool {
    let (graph, children) = parts
    return graph != nil || children.contains { $0.kind == .layer && $0.executesGraph }
  }

  /// The graph that the body is executing, and the unfinished children.
  private var parts: (graph: GraphRun?, children: [Run]) {
    core.read { state in
      (state.runs[self].details.extensions.graph, Array(state.runs[self].details.children.byID.values))
    }
  }

  /// The graph that the body is executing.
  var currentGraph: GraphRun? { core.read { $0.runs[self].details.extensions.graph } }

  /// Adds the existing children and graphs of the run and its layers to a progress node.
  private func adoptParts(into part: ProgressNode) {
    let (graph, children) = parts
    _ = graph?.progressNode(in: part)
    for child in children {
      switch child.kind {
      case .added, .structured: part.adopt(child)
      // The graph counts its nodes. A node that executes a graph has the progress of that graph.
      case .node, .bodyOnlyNode: if child.executesGraph { _ = child.progressNode }
      case .layer, .call, .copy: child.adoptParts(into: part)
      case .graphWorker: break
      }
    }
  }
}

extension ProgressNode {
  /// Adds a run as a child unless it is a node or a part of another run. Nodes are counted by their graph, and parts, such as layers, share
  /// the progress of the run that they belong to.
  func adopt(_ child: Run) {
    guard child.kind == .added || child.kind == .structured else { return }
    let id = child.id
    guard childCame(id, weight: child.layer.traits.weight) else { return }
    child.whenFinished { [self] _ in childEnded(id) }
  }
}

extension GraphRun {
  /// The part of the graph in the tree of progress, made with those of all runs around if there is none.
  var progressPart: ProgressPart { progressPart(in: run.progressPart) }

  func progressPart(in around: ProgressPart) -> ProgressPart {
    let (part, isNew) = around.graph(firstID) {
      let total = plan.traits.reduce(0) { $0 + Double($1.weight) }
      let core = run.core
      return ProgressPart(
        firstID, in: around, ProgressState(total: total), nodeCount: plan.traits.count, now: { core.time.now })
    }
    guard isNew else { return part }
    // From now on, each node counts when it ends; those that have ended before count here, some of them twice, which has no effect.
    values.countEnds()
    for node in plan.traits.indices where values.hasEnded(Int32(node)) { countEnd(of: Int32(node), in: part) }
    return part
  }

  /// A node reports that has not ended.
  func nodeCame(_ id: ProcedureID) {
    let node = Int(id.number - firstID.number)
    progressPart.nodeCame(node, id, weight: Double(plan.traits[node].weight))
  }

  /// A node has ended while somebody reads or reports progress.
  func countEnd(of node: Int32) { countEnd(of: node, in: progressPart) }

  private func countEnd(of node: Int32, in part: ProgressPart) {
    part.nodeEnded(Int(node), firstID.advanced(by: Int(node)), weight: Double(plan.traits[Int(node)].weight))
  }
}

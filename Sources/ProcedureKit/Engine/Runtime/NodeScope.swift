import Synchronization

/// Internal. What stands behind the context of the nodes that a worker of a graph executes, one after another.
///
/// To bind a task-local value costs as much as to execute a short body. So it is done once for many nodes, and the scope
/// is told which node it stands for. But a task that a body creates inherits what is bound, and may outlive the node; so may
/// a context that a body stores. Either holds a reference. While there are no more references than there were before the
/// first node, nobody outside of the worker's task and its children can see the scope, and as the body has ended it has no
/// children: it may stand for another node. Otherwise it is left to those who have it, and the worker binds another.
///
/// Invariant: what changes is atomic. References are only counted, and never touched for that: a miscount could make a new
/// binding of the context where none is needed, or show a node another one's name, and nothing worse.
final class NodeScope: ProcedureScope, @unchecked Sendable {
  private let run: GraphRun
  /// What holds the slot in which the node executes; `nil` without a queue.
  let holder: SlotHolder?
  private let node = Atomic<Int32>(-1)
  /// What wants to know that a produced child has failed.
  private let handlers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])

  init(_ run: GraphRun, holder: SlotHolder?) {
    self.run = run
    self.holder = holder
    super.init(extras: ScopeExtras(startedFrom: run.context))
  }

  override var identity: ProcedureIdentity { run.identity(of: node.load(ordering: .relaxed)) }

  override var isCancelled: Bool { run.isStopping }

  /// Ends what the body waits for, as a failed child does. The task is not the node's to cancel: it may execute others.
  override func stopBody() {
    for handler in handlers.withLock({ Array($0.values) }) { handler() }
  }

  override func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    handlers.withLock { $0[ObjectIdentifier(key)] = handler }
    if children?.isStopping ?? false { handler() }
  }

  override func removeCancellationHandler(key: AnyObject) {
    let handler = handlers.withLock { $0.removeValue(forKey: ObjectIdentifier(key)) }
    _ = handler
  }

  override func childAdmitted() { run.tellOfCancels(self) }

  override var mayProduce: Bool { !isOver }

  override func report(_ kind: ProcedureEvent.Kind) {
    if !isOver { run.report(kind, of: node.load(ordering: .relaxed)) }
  }

  override func lendSlot() { holder?.lendSlot() }

  override func regainSlot() async { await holder?.regainSlot() }

  override func regainSlot(unlessCancelled context: ProcedureContext) async {
    await holder?.regainSlot(unlessCancelled: context)
  }

  override func waitForSlot(in context: ProcedureContext) async { await holder?.waitForSlot(in: context) }

  override func copyEnded() { holder?.copyEnded() }

  override func takeTurn(in context: ProcedureContext) async { await holder?.takeTurn(in: context) }

  /// How many references there are to it at this moment.
  var references: UInt { _getRetainCount(self) }

  /// Whether anybody else refers to it, or to what the node has produced, where there were so many references before; or the
  /// node has been told that it produces nothing any more.
  func isShared(beyond references: UInt) -> Bool {
    self.references != references || hasProduced
  }

  /// From now on it stands for this node.
  func stand(for node: Int32) {
    self.node.store(node, ordering: .relaxed)
  }
}

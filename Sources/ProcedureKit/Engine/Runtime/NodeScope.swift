import Synchronization

/// Internal. What stands behind the context of the nodes that a worker of a graph executes, one after another.
///
/// Invariant: it stands for another node only while nothing refers to it but the task-local binding of the worker; see
/// ``NodeBinding``. So whoever got hold of it in a node's body sees that node for ever.
final class NodeScope: ProcedureScope, @unchecked Sendable {
  private let run: GraphRun
  /// What holds the slot in which the node executes; `nil` without a queue.
  let holder: SlotHolder?
  fileprivate let node = Atomic<Int32>(-1)

  init(_ run: GraphRun, holder: SlotHolder?) {
    self.run = run
    self.holder = holder
    super.init(parent: run.context)
  }

  override var identity: ProcedureIdentity { run.identity(of: node.load(ordering: .relaxed)) }

  override var isCancelled: Bool { run.isStopping }

  override func report(_ kind: ProcedureEvent.Kind) { run.report(kind, of: node.load(ordering: .relaxed)) }

  override func lendSlot() { holder?.lendSlot() }

  override func regainSlot() async { await holder?.regainSlot() }

  override func regainSlot(unlessCancelled context: ProcedureContext) async {
    await holder?.regainSlot(unlessCancelled: context)
  }

  override func takeTurn(in context: ProcedureContext) async { await holder?.takeTurn(in: context) }
}

/// Internal. The task-local binding of a ``NodeScope``, seen from the worker that made it.
///
/// To bind a task-local value costs as much as to execute a short body. So it is done once for many nodes, and the scope
/// is told which node it stands for. But a task that a body creates inherits what is bound, and may outlive the node; so may
/// a context that a body stores. Either holds a reference. Where the binding is the only one, nobody outside of the
/// worker's task and its children can see the scope, and as the body has ended it has no children: it may stand for
/// another node. Otherwise it is left to those who have it, and the worker binds another.
///
/// Invariant: made right after a fresh scope was bound, in a function of its own that is not inlined and has no strong
/// reference: only the binding and the frames of the functions that bound it refer to it. Those are suspended until that
/// function returns, and their references are taken back meanwhile, so that the binding's is the only one; it keeps the scope
/// alive. `end` gives them back, before the function returns. If more references are there than any frames have, all are
/// left alone, and the scope is never taken for unshared.
struct NodeBinding {
  private static let mostFrames = 8

  private let scope: Unmanaged<NodeScope>
  private let takenBack: Int

  init(of scope: Unmanaged<NodeScope>) {
    self.scope = scope
    takenBack = Self.takeBackReferences(to: scope)
  }

  /// Whether nothing but the binding refers to the scope, and the node has produced nothing.
  var isUnshared: Bool { Self.isUnshared(scope) && children == nil }

  /// What the node has produced.
  var children: ChildGroup? { scope._withUnsafeGuaranteedRef { $0.children } }

  /// From now on the scope stands for this node. Only while it is unshared.
  func stand(for node: Int32) {
    scope._withUnsafeGuaranteedRef { $0.node.store(node, ordering: .relaxed) }
  }

  func end() {
    for _ in 0..<takenBack { _ = scope.retain() }
  }

  private static func takeBackReferences(to scope: Unmanaged<NodeScope>) -> Int {
    for count in 0..<mostFrames {
      if isUnshared(scope) { return count }
      scope.release()
    }
    for _ in 0..<mostFrames { _ = scope.retain() }
    return 0
  }

  private static func isUnshared(_ scope: Unmanaged<NodeScope>) -> Bool {
    // An unmanaged reference has the layout of a strong one, and this one is never retained or released for being looked at.
    var scope = scope
    return withUnsafeMutablePointer(to: &scope) { pointer in
      pointer.withMemoryRebound(to: NodeScope.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }
}

/// Decides about one transfer: what libcurl's callbacks answer, which directions are paused, and how the transfer ends.
///
/// The machine counts bytes and compares times; it holds no bytes and calls nothing.
struct CurlTransferMachine: Equatable {
  enum Phase: Equatable {
    /// libcurl does not have the transfer yet. Next: `head`, `ended`.
    case waiting
    /// The head of the response is incomplete. Next: `body`, `ended`.
    case head
    /// The head is complete. Next: `ended`.
    case body
    /// libcurl has the transfer no more.
    case ended
  }

  /// Why a transfer has no good end.
  enum Failure: Equatable {
    case cancelled
    /// The body that is sent could not be produced.
    case sourceFailed
    /// More bytes of heads, interim heads and trailers than ``Limits/head``.
    case headTooLong
    /// The connection was closed before the empty line that ends the head. libcurl calls this a success.
    case headCut
    /// A transfer coding other than `chunked`. libcurl would decode every layer of it before a limit counts.
    case unexpectedCoding
    /// The server has switched to another protocol, which the request did not offer.
    case unexpectedUpgrade
    /// Nothing was sent or received for ``Limits/idle``.
    case idle
    /// libcurl's own code.
    case curl(Int32)
  }

  struct Limits: Equatable {
    static let unreadBytes = 128 << 10

    /// The bytes of all heads and trailers.
    var head = 128 << 10
    /// The bytes that wait for their reader: at this count, the transfer is paused.
    var unread = Limits.unreadBytes
    /// How long nothing may be sent or received; `nil` for no limit.
    var idle: Duration?
  }

  enum HeadEnd: Equatable {
    /// A head of the class 1xx, which another head follows.
    case interim
    case final
    case refused
  }

  /// What a callback that wants bytes to send gets.
  enum Supply: Equatable {
    case bytes, pause, end
  }

  private(set) var phase = Phase.waiting
  private(set) var isReceivingPaused = false
  private(set) var isSendingPaused = false
  /// The first reason to end the transfer from this side.
  private(set) var failure: Failure?
  /// Whether the server has answered with no success: the rest of the request's body is not sent.
  private var isBodyRefused = false
  private let limits: Limits
  private var headCount = 0
  private var unreadCount = 0
  private var lastActivity: ContinuousClock.Instant?

  init(_ limits: Limits) { self.limits = limits }

  /// Whether libcurl is to get the transfer.
  mutating func started() -> Bool {
    guard failure == nil else { return false }
    phase = .head
    return true
  }

  // MARK: What arrived

  /// Bytes of a head, or of the trailers after the body. Returns whether they are accepted.
  mutating func headArrived(_ count: Int) -> Bool {
    headCount += count
    if headCount > limits.head { fail(.headTooLong) }
    return failure == nil
  }

  /// A field `Transfer-Encoding`. Returns whether its codings are accepted.
  mutating func transferCodingArrived(isChunked: Bool) -> Bool {
    if !isChunked { fail(.unexpectedCoding) }
    return failure == nil
  }

  /// The empty line after a head.
  mutating func headEnded(status: Int) -> HeadEnd {
    if status == 101 { fail(.unexpectedUpgrade) }
    if failure != nil { return .refused }
    if (100...199).contains(status) { return .interim }
    phase = .body
    isBodyRefused = status >= 300
    return .final
  }

  /// Bytes of the body. Returns whether they are kept; otherwise libcurl presents them again after the pause.
  mutating func bodyArrived(_ count: Int) -> Bool {
    // A reader that is slower than the peer holds the peer up, not the memory.
    guard unreadCount < limits.unread else {
      isReceivingPaused = true
      return false
    }
    unreadCount += count
    return true
  }

  /// The reader has taken all bytes. Returns whether the transfer is to be resumed.
  mutating func bodyTaken() -> Bool {
    unreadCount = 0
    return isReceivingPaused
  }

  // MARK: What is sent

  /// libcurl can send.
  mutating func supplyWanted(hasBytes: Bool, isComplete: Bool) -> Supply {
    if hasBytes { return .bytes }
    if isComplete || isBodyRefused { return .end }
    isSendingPaused = true
    return .pause
  }

  // MARK: Pauses and time

  /// Whether a pause of the sender keeps a transfer from its end.
  var isHeldByRefusedBody: Bool { isBodyRefused && isSendingPaused }

  /// Ends the pauses whose reason is gone.
  mutating func resumed(canReceive: Bool, canSend: Bool, at now: ContinuousClock.Instant) {
    if canReceive { isReceivingPaused = false }
    if canSend || isBodyRefused { isSendingPaused = false }
    lastActivity = now
  }

  /// Something was sent or received, or the transfer has begun.
  mutating func wasActive(at now: ContinuousClock.Instant) { lastActivity = now }

  /// When the transfer is idle for too long unless something happens; `nil` for never.
  var idleDeadline: ContinuousClock.Instant? {
    // A pause is the time of this side, not of the peer.
    guard let lastActivity, let idle = limits.idle, !isReceivingPaused, !isSendingPaused else { return nil }
    return lastActivity + idle
  }

  // MARK: The end

  /// A reason to end the transfer. The first one counts.
  mutating func fail(_ failure: Failure) {
    guard phase != .ended, self.failure == nil else { return }
    self.failure = failure
  }

  /// libcurl has the transfer no more. Its code is that of a transfer that has come to its end.
  mutating func ended(code: Int32) {
    precondition(phase != .ended, "\(#function): the transfer has ended before")
    if failure == nil, code != 0 { failure = .curl(code) }
    // libcurl reports success for a head that was cut.
    if failure == nil, phase != .body { failure = .headCut }
    phase = .ended
  }
}

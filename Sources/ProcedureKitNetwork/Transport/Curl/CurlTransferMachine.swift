/// Decides about one transfer: what libcurl's callbacks answer, which directions are paused, and how the transfer ends.
///
/// The machine counts bytes and compares times; it holds no bytes and calls nothing.
struct CurlTransferMachine: Equatable {
  enum Phase: Equatable {
    /// libcurl does not have the transfer yet. Next: `head`, `ended`.
    case waiting
    /// The head of the response is incomplete; with the status as soon as its first line has arrived. Next: `head`, `body`, `ended`.
    case head(status: Int?)
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
    /// The first line of a head is no status line, another line looks like one, or a body has begun before the end of its head.
    case badStatusLine
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
    /// How often a transfer whose sender is paused is checked for a peer that has closed the connection.
    static let look = Duration.seconds(1)

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

  /// What the loop does next for the transfer.
  enum Turn: Equatable {
    /// Nothing, until then; `nil` for as long as nothing happens.
    case wait(until: ContinuousClock.Instant?)
    /// Finds out whether the peer has closed the connection.
    case look
    /// Ends the pauses whose reason is gone.
    case resume
    case end
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
  /// Whether the rest of the request's body is not sent: the server has answered with no success, or has closed the connection.
  private(set) var isBodyRefused = false
  /// How many bytes of the answer to a refused body are missing; `nil` if the head announces no length.
  private var answerRest: Int64?
  private let limits: Limits
  private var headCount = 0
  private var unreadCount = 0
  private var lastActivity: ContinuousClock.Instant?
  /// When a paused sender is checked next.
  private var nextLook: ContinuousClock.Instant?

  init(_ limits: Limits) { self.limits = limits }

  /// Whether libcurl is to get the transfer.
  mutating func started() -> Bool {
    guard failure == nil else { return false }
    phase = .head(status: nil)
    return true
  }

  // MARK: What arrived

  /// Bytes of a head, or of the trailers after the body. Returns whether they are accepted.
  mutating func headArrived(_ count: Int) -> Bool {
    headCount += count
    if headCount > limits.head { fail(.headTooLong) }
    return failure == nil
  }

  /// The first line of a head, or another line that looks like one: its status, or `nil` if the line is not understood. Returns whether
  /// the line is accepted. A second status in a head would let a server answer differently to libcurl and to this program.
  mutating func statusLineArrived(_ status: Int?) -> Bool {
    if let status, phase == .head(status: nil) { phase = .head(status: status) } else { fail(.badStatusLine) }
    return failure == nil
  }

  /// A field `Transfer-Encoding`, also of a trailer. Returns whether its codings are accepted.
  mutating func transferCodingArrived(isChunked: Bool) -> Bool {
    if !isChunked { fail(.unexpectedCoding) }
    return failure == nil
  }

  /// The empty line after a head, which announces the length of the body or not.
  mutating func headEnded(announcedLength: Int64? = nil) -> HeadEnd {
    guard failure == nil, case .head(let status?) = phase else {
      fail(.badStatusLine)
      return .refused
    }
    if status == 101 {
      fail(.unexpectedUpgrade)
      return .refused
    }
    if (100...199).contains(status) {
      phase = .head(status: nil)
      return .interim
    }
    phase = .body
    isBodyRefused = status >= 300
    answerRest = announcedLength
    return .final
  }

  /// Bytes of the body. Returns whether they are kept; otherwise the transfer has failed, or libcurl presents them again after the pause.
  mutating func bodyArrived(_ count: Int) -> Bool {
    // libcurl has seen the end of a head in a line that is not empty.
    guard case .body = phase else {
      fail(.badStatusLine)
      return false
    }
    // A reader that is slower than the peer holds the peer up, not the memory.
    guard unreadCount < limits.unread else {
      isReceivingPaused = true
      return false
    }
    unreadCount += count
    answerRest = answerRest.map { $0 - Int64(count) }
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
    // Without this, a server that refuses a body and closes the connection afterwards would get all of it.
    if isBodyRefused { return .end }
    if hasBytes { return .bytes }
    if isComplete { return .end }
    isSendingPaused = true
    return .pause
  }

  // MARK: Pauses and time

  /// Returns what the loop does next.
  mutating func turn(at now: ContinuousClock.Instant) -> Turn {
    if failure != nil { return .end }
    if isSendingPaused {
      // Nothing more of the body is sent, and the pause would keep the transfer from its end.
      if isBodyRefused { return .resume }
      let look = nextLook ?? now + Limits.look
      nextLook = look > now ? look : now + Limits.look
      return look > now ? .wait(until: look) : .look
    }
    nextLook = nil
    guard let deadline = idleDeadline, deadline <= now else { return .wait(until: idleDeadline) }
    if !isAnswered { fail(.idle) }
    return .end
  }

  /// The peer has closed the connection. While the sender is paused, libcurl does not act on that.
  mutating func peerClosed() {
    // With a head, libcurl decides whether the answer is complete.
    if case .body = phase { isBodyRefused = true } else { fail(.headCut) }
  }

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

  /// The body that is sent could not be produced. Returns whether that ends the transfer: nothing is sent of a refused body, so its
  /// source has no say.
  mutating func sourceFailed() -> Bool {
    if !isBodyRefused { fail(.sourceFailed) }
    return failure != nil
  }

  /// Whether the body was refused, and the whole answer has arrived: what happens afterwards to bytes that are still sent does not matter.
  private var isAnswered: Bool { isBodyRefused && answerRest == 0 }

  /// libcurl no longer has the transfer. Its code is that of a transfer that has ended.
  mutating func ended(code: Int32) {
    precondition(phase != .ended, "\(#function): the transfer has ended before")
    if failure == nil, code != 0, !isAnswered { failure = .curl(code) }
    // libcurl reports success for a head that was cut.
    if failure == nil, phase != .body { failure = .headCut }
    phase = .ended
  }
}

import Foundation
import ProcedureKit
import Synchronization

/// A poller that makes TCP connections to find out whether hosts can be reached. A single thread calls `poll` for all *waiters*, which are
/// the tasks that are waiting for an answer.
///
/// Simultaneous waiters for the same host and port share an answer. The system's lookup of a host name blocks a thread and cannot be
/// interrupted, so up to ``searchLimit`` additional threads look up names. A host that is given as an address needs no lookup, and a name
/// is not looked up if all of its waiters have been cancelled. A thread ends when it has nothing left to do.
///
/// The lock guards `State`. Only the polling thread opens, uses and closes sockets. Other threads leave a message in `State`, and then wake
/// the polling thread through a pipe called the bell.
final class ReachabilityPoll: Sendable {
  /// The instance that is shared by the whole process.
  static let shared = ReachabilityPoll()

  /// The maximum number of names that are looked up at a time. Depending on the system's resolver, a lookup can take 30 seconds.
  static let searchLimit = 64
  /// The maximum number of addresses that are tried for a host. The number is limited, because a name server may return thousands.
  static let addressLimit = 16

  /// The question of whether a host accepts connections on a port.
  struct Question: Hashable, Sendable {
    let host: String
    let port: UInt16
  }

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct Entry {
    let question: Question
    var waiters: [Int: Waiter] = [:]
    /// The addresses that the polling thread should try; `nil` while the name is being looked up, and after the thread has taken the
    /// addresses.
    var addresses: [SocketAddress]?
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var current: [Question: Int] = [:]
    /// The waiters that were cancelled before they started to wait.
    var cancelled: Set<Int> = []
    var nextID = 0
    var searches: [Int] = []
    var searchThreads = 0
    /// The write end of the polling thread's pipe; `nil` if the thread is not running.
    var bell: Int32?

    mutating func makeID() -> Int {
      nextID += 1
      return nextID
    }

    /// Removes the entry of a ``Question``, and returns the waiters of the entry.
    mutating func end(_ id: Int) -> [Waiter] {
      guard let entry = entries.removeValue(forKey: id) else { return [] }
      if current[entry.question] == id { current[entry.question] = nil }
      return Array(entry.waiters.values)
    }

    func ring() {
      if let bell { _ = write(bell, [1], 1) }
    }
  }

  private let state = Mutex(State())
  private let findAddresses: @Sendable (Question) -> [SocketAddress]

  /// Creates an instance.
  ///
  /// - Parameter findAddresses: A closure that looks up the addresses of a name. The closure is allowed to block its thread.
  init(
    _ findAddresses: @escaping @Sendable (Question) -> [SocketAddress] = {
      SocketAddress.addresses(of: $0.host, $0.port, isSearching: true)
    }
  ) { self.findAddresses = findAddresses }

  /// Waits until a host accepts a connection. Cancelling the task ends its wait immediately and ends the connection attempt if no other
  /// task is waiting for it.
  ///
  /// - Throws: ``ReachabilityError`` if the host cannot be reached; `CancellationError` if the task is cancelled.
  func connect(to host: String, _ port: UInt16) async throws {
    // Host names are not case-sensitive.
    let question = Question(host: host.lowercased(), port: port)
    let waiterID = state.withLock { $0.makeID() }
    // A cancellation that arrives after the answer leaves an entry in this set.
    defer { state.withLock { _ = $0.cancelled.remove(waiterID) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { begin(question, waiterID, $0) }
    } onCancel: {
      cancel(question, waiterID)
    }
  }

  private func begin(_ question: Question, _ waiterID: Int, _ waiter: Waiter) {
    // This call does not block, because it accepts only numeric addresses.
    let known = SocketAddress.addresses(of: question.host, question.port, isSearching: false)
    let error: (any Error)? = state.withLock { state in
      if state.cancelled.remove(waiterID) != nil { return CancellationError() }
      if let id = state.current[question] {
        state.entries[id]?.waiters[waiterID] = waiter
        return nil
      }
      // No other waiter is asking this question.
      let id = state.makeID()
      state.entries[id] = Entry(question: question, waiters: [waiterID: waiter])
      state.current[question] = id
      if known.isEmpty {
        state.searches.append(id)
        if state.searchThreads < Self.searchLimit {
          state.searchThreads += 1
          start("pk-lookup") { $0.search() }
        }
        return nil
      }
      guard let failure = connectEntry(id, known, &state) else { return nil }
      _ = state.end(id)
      return Self.refusal(question, failure)
    }
    if let error { waiter.resume(throwing: error) }
  }

  private func cancel(_ question: Question, _ waiterID: Int) {
    let waiter = state.withLock { state -> Waiter? in
      guard let id = state.current[question], let waiter = state.entries[id]?.waiters.removeValue(forKey: waiterID)
      else {
        // The waiter has not started to wait yet or already has its answer.
        state.cancelled.insert(waiterID)
        return nil
      }
      if state.entries[id]?.waiters.isEmpty == true {
        _ = state.end(id)
        state.ring()
      }
      return waiter
    }
    waiter?.resume(throwing: CancellationError())
  }

  // MARK: The name lookup

  private func search() {
    while let (id, question) = nextSearch() {
      let addresses = findAddresses(question)
      let (waiters, error) = state.withLock { state -> ([Waiter], ReachabilityError) in
        let unknown = ReachabilityError(.unknownHost, "The host \(question.host.quotable) was not found.")
        guard !addresses.isEmpty else { return (state.end(id), unknown) }
        // All waiters were cancelled during the lookup.
        guard state.entries[id] != nil else { return ([], unknown) }
        guard let failure = connectEntry(id, addresses, &state) else { return ([], unknown) }
        return (state.end(id), Self.refusal(question, failure))
      }
      for waiter in waiters { waiter.resume(throwing: error) }
    }
  }

  /// Returns the next host to look up; `nil` if there is none. In that case, the calling thread must exit.
  private func nextSearch() -> (Int, Question)? {
    state.withLock { state in
      while !state.searches.isEmpty {
        let id = state.searches.removeFirst()
        if let entry = state.entries[id] { return (id, entry.question) }
      }
      state.searchThreads -= 1
      return nil
    }
  }

  // MARK: The polling thread

  /// Passes the addresses of a question's host to the polling thread, and starts the thread if necessary. Returns a system error number
  /// if the thread cannot be started.
  private func connectEntry(_ id: Int, _ addresses: [SocketAddress], _ state: inout State) -> Int32? {
    state.entries[id]?.addresses = Array(addresses.prefix(Self.addressLimit))
    guard state.bell == nil else {
      state.ring()
      return nil
    }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return errno }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    state.bell = ends[1]
    start("pk-reachable") { [bell = ends[0]] in
      $0.poll(bell)
      close(bell)
    }
    return nil
  }

  private func start(_ name: String, _ body: @escaping @Sendable (ReachabilityPoll) -> Void) {
    let thread = Thread { [self] in body(self) }
    thread.name = name
    thread.start()
  }

  /// The sockets that belong to the polling thread.
  private struct Sockets {
    /// The socket descriptors for each ``Question``, keyed by its ID.
    var ofQuestion: [Int: [Int32]] = [:]

    mutating func close(_ id: Int) {
      for descriptor in ofQuestion.removeValue(forKey: id) ?? [] { Foundation.close(descriptor) }
    }
  }

  private func poll(_ bell: Int32) {
    var sockets = Sockets()
    while let work = nextWork(sockets) {
      for id in work.abandoned { sockets.close(id) }
      for (id, addresses) in work.new { begin(id, addresses, &sockets) }
      // The next iteration ends the thread, unless a question has been added.
      if sockets.ofQuestion.isEmpty { continue }
      var polled = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
      var owners = [0]
      for (id, descriptors) in sockets.ofQuestion {
        for descriptor in descriptors {
          polled.append(pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0))
          owners.append(id)
        }
      }
      guard Foundation.poll(&polled, nfds_t(polled.count), -1) >= 0 else {
        if errno == EINTR { continue }
        let code = errno
        for id in sockets.ofQuestion.keys { end(id, code, &sockets) }
        continue
      }
      if polled[0].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(bell, &bytes, bytes.count) > 0 {}
      }
      for (entry, id) in zip(polled, owners).dropFirst() where entry.revents != 0 {
        polledSocket(entry.fd, of: id, &sockets)
      }
    }
  }

  /// Returns the questions that are new to the polling thread, and the questions that have lost all their waiters. Returns `nil` if there
  /// is nothing to do. The thread must then end.
  private func nextWork(_ sockets: Sockets) -> (new: [(Int, [SocketAddress])], abandoned: [Int])? {
    state.withLock { state in
      let abandoned = sockets.ofQuestion.keys.filter { state.entries[$0] == nil }
      var new: [(Int, [SocketAddress])] = []
      for (id, entry) in state.entries {
        guard let addresses = entry.addresses else { continue }
        state.entries[id]?.addresses = nil
        new.append((id, addresses))
      }
      if new.isEmpty, sockets.ofQuestion.isEmpty {
        if let bell = state.bell { close(bell) }
        state.bell = nil
        return nil
      }
      return (new, Array(abandoned))
    }
  }

  /// Starts connecting to all addresses of a question's host simultaneously.
  private func begin(_ id: Int, _ addresses: [SocketAddress], _ sockets: inout Sockets) {
    var code = ECONNREFUSED
    for address in addresses {
      switch address.beginConnection() {
      case .made: return end(id, nil, &sockets)
      case .underWay(let descriptor): sockets.ofQuestion[id, default: []].append(descriptor)
      case .failed(let failure): code = failure
      }
    }
    if sockets.ofQuestion[id] == nil { end(id, code, &sockets) }
  }

  private func polledSocket(_ descriptor: Int32, of id: Int, _ sockets: inout Sockets) {
    // Another socket has already answered the same question in this iteration.
    guard let descriptors = sockets.ofQuestion[id] else { return }
    guard let failure = SocketAddress.failure(of: descriptor) else { return end(id, nil, &sockets) }
    if descriptors == [descriptor] { return end(id, failure, &sockets) }
    sockets.ofQuestion[id]?.removeAll { $0 == descriptor }
    close(descriptor)
  }

  /// Removes the entry of a ``Question`` that has been answered, and resumes its waiters. `failure` is the system's error number, or `nil`
  /// if a connection was made.
  private func end(_ id: Int, _ failure: Int32?, _ sockets: inout Sockets) {
    sockets.close(id)
    let (question, waiters) = state.withLock { ($0.entries[id]?.question, $0.end(id)) }
    for waiter in waiters {
      if let failure, let question { waiter.resume(throwing: Self.refusal(question, failure)) } else { waiter.resume() }
    }
  }

  private static func refusal(_ question: Question, _ code: Int32) -> ReachabilityError {
    let place = "\(question.host.quotable):\(question.port)"
    return ReachabilityError(.refused, "Cannot connect to \(place): \(String(cString: strerror(code))).")
  }
}

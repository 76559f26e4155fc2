#if os(Linux)
  import Foundation

  /// Descriptors that the system waits for with `epoll`: to add one wakes no thread. A set stays as long as the process.
  struct EpollSet: DescriptorSet {
    private static let readable: UInt32 = 1  // EPOLLIN
    private static let once: UInt32 = 1 << 30  // EPOLLONESHOT
    private let descriptor: Int32

    /// - Throws: `POSIXError` if the process can open no further descriptors.
    init() throws {
      descriptor = makeEpoll(O_CLOEXEC)
      guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
    }

    func add(_ descriptor: Int32, key: Int) -> Bool {
      let (add, change): (Int32, Int32) = (1, 3)  // EPOLL_CTL_ADD, EPOLL_CTL_MOD
      return withUnsafeTemporaryAllocation(byteCount: EpollEvent.size, alignment: 8) { event in
        event.storeBytes(of: Self.readable | Self.once, as: UInt32.self)
        event.storeBytes(of: key, toByteOffset: EpollEvent.keyOffset, as: Int.self)
        if changeEpoll(self.descriptor, add, descriptor, event.baseAddress) == 0 { return true }
        return errno == EEXIST && changeEpoll(self.descriptor, change, descriptor, event.baseAddress) == 0
      }
    }

    func next(within limit: Duration?) -> [Int] {
      let most = 64
      return withUnsafeTemporaryAllocation(byteCount: most * EpollEvent.size, alignment: 8) { events in
        let count = awaitEpoll(descriptor, events.baseAddress, Int32(most), Duration.milliseconds(of: limit))
        return (0..<max(Int(count), 0)).map {
          events.loadUnaligned(fromByteOffset: $0 * EpollEvent.size + EpollEvent.keyOffset, as: Int.self)
        }
      }
    }
  }

  /// The layout of `struct epoll_event`, which the Swift module of the C library leaves out.
  private enum EpollEvent {
    #if arch(x86_64)
      static let (keyOffset, size) = (4, 12)
    #else
      static let (keyOffset, size) = (8, 16)
    #endif
  }
#endif

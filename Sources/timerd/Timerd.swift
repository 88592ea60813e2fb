import ArgumentParser
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import FoundationEssentials
import Dispatch
import TimerCore

@main struct Timerd: ParsableCommand {
    func run() throws {
        let g = MultiThreadedEventLoopGroup(numberOfThreads: 1); try g.syncShutdownGracefully();
        print(String(decoding: try JSONEncoder().encode([1]), as: UTF8.self))
        let s = DispatchSource.makeTimerSource(); s.activate(); s.cancel()
    }
}

import ArgumentParser
import FoundationEssentials
import TimerCore

@main struct Timerctl: ParsableCommand {
    func run() throws { print(String(decoding: try JSONEncoder().encode([1]), as: UTF8.self)) }
}

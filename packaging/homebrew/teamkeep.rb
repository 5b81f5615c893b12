# A template: scripts/packages.sh fills in the version, the address and the checksums.
class Teamkeep < Formula
  desc "Flight recorder and gatekeeper for Claude Code agent teams"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "MIT"

  depends_on :linux

  # @ARCHIVES@

  def install
    bin.install "teamkeep", "teamkeep-hook"
    man1.install Dir["docs/man/*.1"]
    bash_completion.install "docs/completions/teamkeep.bash" => "teamkeep"
    fish_completion.install "docs/completions/teamkeep.fish"
    zsh_completion.install "docs/completions/_teamkeep"
  end

  def caveats
    <<~TEXT
      To record agent teams, add the hooks to the settings of Claude Code:
        #{opt_bin}/teamkeep install
    TEXT
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/teamkeep --version")
    assert_predicate bin/"teamkeep-hook", :executable?
  end
end

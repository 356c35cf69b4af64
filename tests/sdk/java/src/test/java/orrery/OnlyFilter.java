package orrery;

import java.util.regex.Pattern;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.launcher.PostDiscoveryFilter;

/** ORRERY_ONLY: a regular expression on the names of test methods. */
public final class OnlyFilter implements PostDiscoveryFilter {
  private final Pattern only = Pattern.compile(System.getenv().getOrDefault("ORRERY_ONLY", ""));

  @Override
  public FilterResult apply(TestDescriptor test) {
    return FilterResult.includedIf(!test.isTest() || only.matcher(test.getDisplayName()).find());
  }
}
